import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ROOT } from './bundle.ts'

/**
 * Copies the sources of this repository with what is installed and generated, and without anything built. The links of
 * npm from one package of the repository to another are relative, so those of the copy stay in the copy.
 */
export function copySources(folder: string): void {
  const options = { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 } as const
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], options)
  const generated = globSync('libs/*/src/gen', { cwd: ROOT })
  for (const file of [...listed.split('\0').filter((name) => name !== ''), ...generated]) {
    mkdirSync(join(folder, dirname(file)), { recursive: true })
    cpSync(join(ROOT, file), join(folder, file), { recursive: true })
  }
  // Without a second copy where the file system allows it.
  const link = statSync(folder).dev === statSync(join(ROOT, 'node_modules')).dev ? ['--link'] : []
  for (const modules of [
    'node_modules',
    ...globSync(['*/node_modules', '{apps,libs}/*/node_modules'], { cwd: ROOT }),
  ]) {
    execFileSync('cp', ['--archive', ...link, join(ROOT, modules), join(folder, modules)])
  }
}
