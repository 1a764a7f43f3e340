import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { PROGRAMS, ROOT, releaseVersion, SIDECARS } from './bundle.ts'
import { type Architecture, makeExecutables } from './executables.ts'

const VERSION = 'v1.2.3'
const MINUTES = 3 * 60_000
/** `describe` for tests that need Linux, because executables are built only for and on Linux. */
const onLinux = process.platform === 'linux' ? describe : describe.skip

onLinux('the executables', () => {
  const architecture = process.arch as Architecture
  let folder: string
  let files: readonly string[]
  const make = (out: string): readonly string[] => makeExecutables(join(folder, out), VERSION)

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'executables-'))
    files = make('first')
  }, MINUTES)

  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const first = (file: string): string => join(folder, 'first', file)
  const nameOf = (name: string): string => `${name}-${VERSION}-linux-${architecture}`

  it('the executables come with licences and checksums', () => {
    const expected = PROGRAMS.flatMap((name) => [nameOf(name), `${name}-${VERSION}-THIRD-PARTY-NOTICES.txt`])
    expect([...files].sort()).toEqual(['SHA256SUMS', ...expected].sort())
    const summed = execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: join(folder, 'first') }).toString()
    expect(summed.match(/: OK$/gm)).toHaveLength(expected.length)
  })

  it.each(SIDECARS)('the executable of %s runs without other files', (name) => {
    const coverage = join(folder, 'coverage')
    writeFileSync(join(folder, 'bad.cnf'), 'no equal sign\n')
    const env = { NODE_OPTIONS: '--no-such-option', NODE_V8_COVERAGE: coverage, OPENSSL_CONF: 'bad.cnf' }
    const output = execFileSync(first(nameOf(name)), ['--version'], { cwd: folder, env, encoding: 'utf8' })
    expect(output).toBe(`${first(nameOf(name))} ${releaseVersion()}\n`)
    expect(existsSync(coverage)).toBe(false)
  })

  it('the kubectl-csi executable runs without other files, and explains a failure in one line', () => {
    const program = first(nameOf('kubectl-csi'))
    const env = { NODE_OPTIONS: '--no-such-option', OPENSSL_CONF: 'bad.cnf', PATH: '/nowhere' }
    const run = (...args: readonly string[]) => spawnSync(program, args, { cwd: folder, env, encoding: 'utf8' })
    expect(run('--version')).toMatchObject({ status: 0, stdout: `kubectl-csi ${releaseVersion()}\n`, stderr: '' })
    expect(run('stuck', '--kubeconfig=absent')).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringMatching(/^kubectl-csi: .*absent.*\n$/),
    })
    // The executable contains the help page of `explain`, so no file next to it is needed.
    expect(run('explain', '--help').stdout).toContain('explain')
  })

  it.each(PROGRAMS)('the executable of %s does not contain the path of its build folder', (name) => {
    expect(readFileSync(first(nameOf(name))).includes(`${ROOT}/`)).toBe(false)
  })

  it(
    'two builds of the executables are equal byte by byte',
    () => {
      make('again')
      const sums = (out: string): string => readFileSync(join(folder, out, 'SHA256SUMS'), 'utf8')
      expect(sums('again')).toBe(sums('first'))
    },
    MINUTES,
  )

  it(
    'the executables are equal byte by byte if `npm run build` runs in another folder',
    () => {
      const other = join(folder, 'a folder with another name')
      copySources(other)
      const app = join(other, 'apps/attacher')
      // The build must not inherit NODE_OPTIONS from jest.
      const env = { ...process.env, NODE_OPTIONS: '' }
      execFileSync(process.execPath, ['../../tools/build.mjs', 'csi-attacher'], { cwd: app, env, stdio: 'pipe' })
      for (const file of ['csi-attacher', 'csi-attacher.cjs', 'csi-attacher.cache', 'sea.json']) {
        const [here, there] = [ROOT, other].map((root) => readFileSync(join(root, 'apps/attacher/dist', file)))
        expect([file, here?.equals(there ?? Buffer.alloc(0))]).toEqual([file, true])
      }
    },
    MINUTES,
  )
})

/**
 * The names from .gitignore that the copy leaves out. Entries with a slash are generated code, which the copy needs.
 * The test does not call git, because an archive of the sources has no git history.
 */
const NOT_SOURCES: ReadonlySet<string> = new Set([
  '.git',
  ...readFileSync(join(ROOT, '.gitignore'), 'utf8')
    .split('\n')
    .map((line) => line.replace(/\/$/, ''))
    .filter((line) => line !== '' && !line.includes('/')),
])

/**
 * Copies the sources with installed packages and generated code, but without built files. npm links the packages of
 * this repository by relative paths, so the copied links lead to the copy.
 */
function copySources(folder: string): void {
  const isSource = (path: string): boolean => path === ROOT || !NOT_SOURCES.has(basename(path))
  cpSync(ROOT, folder, { recursive: true, filter: isSource })
  // If both folders are in one file system, `cp` creates hard links instead of copies.
  const link = statSync(folder).dev === statSync(join(ROOT, 'node_modules')).dev ? ['--link'] : []
  for (const modules of [
    'node_modules',
    ...globSync(['*/node_modules', '{apps,libs,desk,testing}/*/node_modules'], { cwd: ROOT }),
  ]) {
    execFileSync('cp', ['--archive', ...link, join(ROOT, modules), join(folder, modules)])
  }
}
