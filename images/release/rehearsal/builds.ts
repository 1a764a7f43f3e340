import { execFileSync } from 'node:child_process'
import { globSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, readJson, releaseVersion } from '../../tools/bundle.ts'
import { committedAt, revision } from '../../tools/commit.ts'
import { copySources } from '../../tools/other-folder.ts'
import { sha256Of } from '../files.ts'

const BUILD = 'images/release/build.ts'

/** Builds a release here, from what `npm run build` left. */
export function buildHere(out: string): void {
  execFileSync(process.execPath, [join(ROOT, BUILD), '--out', out], { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** Builds everything again from a copy of the sources in another folder, the executables of `npm run build` as well. */
export function buildElsewhere(folder: string, out: string): void {
  mkdirSync(folder)
  copySources(folder)
  const env = {
    ...process.env,
    SOURCE_DATE_EPOCH: String(committedAt() / 1000),
    GITHUB_SHA: revision(),
    RELEASE_VERSION: releaseVersion(),
  }
  const run = (cwd: string, args: readonly string[]): void => {
    execFileSync(process.execPath, args, { cwd, env, stdio: ['ignore', 'ignore', 'inherit'] })
  }
  for (const file of globSync('apps/*/package.json', { cwd: folder }).sort()) {
    const { scripts } = readJson<{ readonly scripts?: Readonly<Record<string, string>> }>(join(folder, file))
    const [program, ...args] = scripts?.['build']?.split(' ') ?? []
    if (program !== undefined && program !== 'node') throw new Error(`${file}: its build is no program of Node.js`)
    if (program !== undefined) run(join(folder, file, '..'), args)
  }
  run(folder, [BUILD, '--out', out])
}

/** The files of a folder with their SHA-256. */
export function sumsOf(folder: string): Readonly<Record<string, string>> {
  const files = globSync('**/*', { cwd: folder }).filter((name) => statSync(join(folder, name)).isFile())
  return Object.fromEntries(files.sort().map((name) => [name, sha256Of(join(folder, name))]))
}

/** The names that differ, or that only one of both has. */
export function differences(
  one: Readonly<Record<string, string>>,
  other: Readonly<Record<string, string>>,
): readonly string[] {
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...names].filter((name) => one[name] !== other[name]).sort()
}
