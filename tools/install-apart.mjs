// Heavy tools that few people need have folders of their own below tools, each with its lockfile.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Installs the packages of the lockfile of tools/<name>, unless they are installed. Returns the folder. */
export function installApart(name) {
  const folder = join(import.meta.dirname, name)
  const [lockfile, installed] = ['package-lock.json', 'node_modules/.package-lock.json'].map((file) =>
    join(folder, file),
  )
  if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lockfile).mtimeMs) {
    console.log(`Installing what tools/${name} needs.`)
    const { status, error } = spawnSync('npm', ['ci', '--ignore-scripts'], { cwd: folder, stdio: 'inherit' })
    if (status !== 0) throw new Error(`npm ci in ${folder} failed`, { cause: error })
  }
  return folder
}
