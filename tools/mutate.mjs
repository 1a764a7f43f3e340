// `npm run mutate -- <package> <glob>...` injects faults into the files, and counts the faults that the tests find:
//     npm run mutate -- apps/attacher 'src/volume-attachment/decide-*.ts' src/volume-attachment/patches.ts
// The faults are in a copy of the package, so an interrupted run leaves no fault.
// Only the tests next to the files run. Name other tests by --tests 'src/volume-attachment/reconcile*.test.ts'.
// The exit code is 1 if the tests find less than 90 %.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import base from '../jest.config.base.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { tests: { type: 'string', multiple: true, default: [] } },
})
const [folder, ...mutate] = positionals
if (folder === undefined || mutate.length === 0) {
  console.error('usage: mutate <package folder> <glob>... [--tests <glob>]...')
  process.exit(2)
}

const install = join(import.meta.dirname, 'mutation')
execFileSync('npm', ['ci', '--silent', '--ignore-scripts'], { cwd: install })
const packages = join(install, 'node_modules/@stryker-mutator')
const testMatch = [...mutate.map((glob) => glob.replace(/\.ts$/, '.test.ts')), ...values.tests]
const config = {
  testRunner: 'jest',
  plugins: [join(packages, 'jest-runner/dist/src/index.js'), join(import.meta.dirname, 'mutate-ignore-logs.mjs')],
  ignorers: ['logs'],
  jest: {
    projectType: 'custom',
    config: { ...base, testMatch: testMatch.map((glob) => `<rootDir>/${glob}`) },
    enableFindRelatedTests: false,
  },
  coverageAnalysis: 'perTest',
  tsconfigFile: 'none',
  // As far from the root as a package, so that relative paths to other folders lead there.
  tempDirName: '../../.stryker-tmp',
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
const settings = mkdtempSync(join(tmpdir(), 'mutate-'))
try {
  const file = join(settings, 'stryker.config.json')
  writeFileSync(file, JSON.stringify(config))
  const stryker = join(packages, 'core/bin/stryker.js')
  process.exitCode = spawnSync(process.execPath, [stryker, 'run', file], { cwd: folder, stdio: 'inherit' }).status ?? 1
} finally {
  rmSync(settings, { recursive: true })
}
