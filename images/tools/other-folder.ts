import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ROOT } from './bundle.ts'

/**
 * Copies the sources of this repository, with generated code and without anything built. The packages of the registry
 * are those of this folder; the packages of the repository are those of the copy.
 */
export function copySources(folder: string): void {
  const options = { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 } as const
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], options)
  const generated = globSync('libs/*/src/gen', { cwd: ROOT })
  for (const file of [...listed.split('\0').filter((name) => name !== ''), ...generated]) {
    mkdirSync(join(folder, dirname(file)), { recursive: true })
    cpSync(join(ROOT, file), join(folder, file), { recursive: true, force: true })
  }
  for (const modules of ['node_modules', ...globSync('{apps,libs}/*/node_modules', { cwd: ROOT })]) {
    linkPackages(join(ROOT, modules), join(folder, modules))
  }
}

/** Links of npm from one package of the repository to another are relative, so a copy of them stays in the copy. */
function linkPackages(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const name of readdirSync(from)) {
    if (name === '@csi-sidecars') cpSync(join(from, name), join(to, name), { recursive: true, verbatimSymlinks: true })
    else symlinkSync(join(from, name), join(to, name))
  }
}
