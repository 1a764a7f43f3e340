// `npm run mutate -- <package> <glob>...` injects faults into the files, and counts the faults that the tests find:
//     npm run mutate -- apps/attacher 'src/volume-attachment/decide-*.ts' src/volume-attachment/patches.ts
// The faults are in a copy of the repository, so you can edit during the run, and an interrupted run leaves no fault.
// Only the tests next to the files run. Name other tests by --tests 'src/volume-attachment/reconcile*.test.ts'.
// The exit code is 1 if the tests find less than 90 %.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { tests: { type: 'string', multiple: true, default: [] } },
})
const [folder, ...mutate] = positionals
if (folder === undefined || mutate.length === 0) {
  console.error('usage: mutate <package folder> <glob>... [--tests <glob>]...')
  process.exit(2)
}

const root = resolve(import.meta.dirname, '..')
execFileSync('npm', ['ci', '--silent', '--ignore-scripts'], { cwd: join(import.meta.dirname, 'mutation') })
const packages = join(import.meta.dirname, 'mutation/node_modules/@stryker-mutator')
const copy = mkdtempSync(join(tmpdir(), 'mutate-'))
process.on('exit', () => rmSync(copy, { recursive: true, force: true }))

const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root })
for (const file of listed.toString().split('\0')) {
  if (file === '' || !existsSync(join(root, file))) continue
  mkdirSync(dirname(join(copy, file)), { recursive: true })
  copyFileSync(join(root, file), join(copy, file))
}
const generated = 'libs/csi-proto/src/gen'
if (existsSync(join(root, generated))) cpSync(join(root, generated), join(copy, generated), { recursive: true })
symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))

const besides = mutate.map((glob) => glob.replace(/\.ts$/, '.test.ts'))
const testMatch = [...besides, ...values.tests].map((glob) => `<rootDir>/${glob}`)
const base = await import(join(copy, 'jest.config.base.mjs'))
const config = {
  testRunner: 'jest',
  plugins: [join(packages, 'jest-runner/dist/src/index.js'), join(import.meta.dirname, 'mutate-ignore-logs.mjs')],
  ignorers: ['logs'],
  jest: { projectType: 'custom', config: { ...base.default, testMatch } },
  coverageAnalysis: 'perTest',
  inPlace: true,
  concurrency: 2,
  // The time-out is long, so that a slow run on a busy machine does not count as an endless loop.
  timeoutMS: 30_000,
  mutate: [...mutate, '!src/**/*.test.ts'],
  testRunnerNodeArgs: ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
  reporters: ['progress-append-only', 'clear-text'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  thresholds: { high: 95, low: 90, break: 90 },
  allowEmpty: false,
}
const cwd = join(copy, folder)
writeFileSync(join(cwd, 'stryker.config.json'), JSON.stringify(config))
const stryker = join(packages, 'core/bin/stryker.js')
const run = spawn(process.execPath, [stryker, 'run'], { cwd, stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => run.kill(signal))
const [code] = await once(run, 'exit')
process.exitCode = code ?? 1
