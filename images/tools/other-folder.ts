import { execFileSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { ROOT } from './bundle.ts'

/**
 * The names in .gitignore. Its paths are left out, because they belong to generated code. Git is not called, because an
 * archive has no history.
 */
const NOT_SOURCES: ReadonlySet<string> = new Set([
  '.git',
  ...readFileSync(join(ROOT, '.gitignore'), 'utf8')
    .split('\n')
    .map((line) => line.replace(/\/$/, ''))
    .filter((line) => line !== '' && !line.includes('/')),
])

/**
 * Copies the sources of this repository with installed and generated files, but without built files. npm links packages
 * of the repository by relative paths, so the links of the copy stay in the copy.
 */
export function copySources(folder: string): void {
  const isSource = (path: string): boolean => path === ROOT || !NOT_SOURCES.has(basename(path))
  cpSync(ROOT, folder, { recursive: true, filter: isSource })
  // `cp` links the files if both folders are in one file system, which saves a second copy.
  const link = statSync(folder).dev === statSync(join(ROOT, 'node_modules')).dev ? ['--link'] : []
  for (const modules of [
    'node_modules',
    ...globSync(['*/node_modules', '{apps,libs,testing}/*/node_modules'], { cwd: ROOT }),
  ]) {
    execFileSync('cp', ['--archive', ...link, join(ROOT, modules), join(folder, modules)])
  }
}
