import { execFileSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { ROOT } from './bundle.ts'

/** Names that .gitignore has; its paths are those of generated code. Git is not asked: an archive has no history. */
const NOT_SOURCES: ReadonlySet<string> = new Set([
  '.git',
  ...readFileSync(join(ROOT, '.gitignore'), 'utf8')
    .split('\n')
    .map((line) => line.replace(/\/$/, ''))
    .filter((line) => line !== '' && !line.includes('/')),
])

/**
 * Copies the sources of this repository with what is installed and generated, and without anything built. The links of
 * npm from one package of the repository to another are relative, so those of the copy stay in the copy.
 */
export function copySources(folder: string): void {
  const isSource = (path: string): boolean => path === ROOT || !NOT_SOURCES.has(basename(path))
  cpSync(ROOT, folder, { recursive: true, filter: isSource })
  // Without a second copy where the file system allows it.
  const link = statSync(folder).dev === statSync(join(ROOT, 'node_modules')).dev ? ['--link'] : []
  for (const modules of [
    'node_modules',
    ...globSync(['*/node_modules', '{apps,libs,testing}/*/node_modules'], { cwd: ROOT }),
  ]) {
    execFileSync('cp', ['--archive', ...link, join(ROOT, modules), join(folder, modules)])
  }
}
