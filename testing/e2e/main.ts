// Runs the end-to-end tests against the built binaries.
import { existsSync, globSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import { COUNT, Progress, readArguments } from '@csi-sidecars/command'
import { provideHelm } from '../../charts/tests/helm.ts'
import { openCluster, targetOf } from './harness/api/open-cluster.ts'
import {
  build,
  controlPlaneBinaries,
  copied,
  executablesOf,
  hasControlPlane,
  hasGo,
} from './harness/programs/binaries.ts'
import { type RunOptions, runAll, selectedFor, type Tally } from './harness/runner.ts'
import { type Binaries, SUBJECTS, TARGETS, type Target } from './harness/subject.ts'
import { allChecks, allTests, LONG } from './harness/test.ts'

const { values } = readArguments(
  'npm run e2e -- [--target one|both|emulator|real] [--binaries originals|one] [--grep TEXT] [--skip TEXT] [--concurrency N] [--repeat N] [--differences] [--list]',
  {
    options: {
      grep: { type: 'string', multiple: true, default: [] },
      skip: { type: 'string', multiple: true, default: [] },
      target: { type: 'string', default: 'one' },
      binaries: { type: 'string', default: 'ours' },
      concurrency: { type: 'string', default: '6' },
      repeat: { type: 'string', default: '1' },
      differences: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
    },
  },
  { target: /^(one|both|emulator|real)$/, binaries: /^(ours|originals|one)$/, concurrency: COUNT, repeat: COUNT },
)

const REPORTS_KEPT = 8
const root = resolve(import.meta.dirname, '../..')
const printLine = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

process.exitCode = await main()

async function main(): Promise<number> {
  // The tests of the chart need Helm.
  const withoutHelm = values.list ? undefined : provideHelm()
  if (withoutHelm !== undefined) printLine(withoutHelm)
  for (const file of globSync('tests/**/*.ts', { cwd: import.meta.dirname }).sort()) {
    await import(join(import.meta.dirname, file))
  }
  const tests = allTests().filter(({ title }) => selectedTests(title))
  const checks = allChecks().filter(({ title }) => selectedTests(title))
  if (values.list) {
    for (const { title, only } of tests) printLine(only === undefined ? title : `${title} (${only} only)`)
    for (const { title } of checks) printLine(title)
    return 0
  }
  const binaries = whose()
  const servers = chooseServers()
  const remedy = prepare(binaries, servers)
  if (remedy !== undefined) {
    printLine(remedy)
    return 2
  }
  const reports = reportFolder()
  const executables = copied(root, binaries)
  const tally: Tally = { passed: 0, failed: [], absent: 0 }
  const common = {
    tests,
    checks,
    binaries,
    preferred: servers.preferred,
    differences: values.differences,
    executables,
    tally,
  }
  const rounds = Number(values.repeat)
  const each = servers.targets.map((target) => selectedFor({ ...common, target }))
  const pieces = each.reduce((sum, one) => sum + one.tests.length + one.checks.length, 0)
  const progress = new Progress(rounds * pieces, process.stdout, systemClock)
  // An error on a socket after the end of its test fails the run, but does not stop the other tests.
  process.on('uncaughtException', (error) => {
    tally.failed.push(`outside a test: ${error.message}`)
    progress.printLine(`FAIL outside a test: ${error.stack}`)
  })
  await using stack = new AsyncDisposableStack()
  const lanes: RunOptions[] = []
  for (const target of servers.targets) {
    const logs = join(reports, target)
    const selected = selectedFor({ ...common, target })
    const needsOther = [...selected.tests, ...selected.checks].some(({ alone }) => alone === 'cluster')
    const { cluster } = stack.use(await openCluster(root, target, logs))
    const { cluster: clusterOfAlone } = needsOther
      ? stack.use(await openCluster(root, target, join(logs, 'alone')))
      : { cluster }
    lanes.push({ ...common, target, cluster, clusterOfAlone, reports: logs, progress })
  }
  for (let round = 0; round < rounds; round += 1) await runAll(lanes, Number(values.concurrency))
  progress.stop()
  const { passed, absent } = tally
  const failed = tally.failed.length
  writeFileSync(join(root, '.cache', 'e2e', 'results.json'), JSON.stringify({ passed, failed, absent }))
  for (const title of tally.failed) printLine(`failed: ${title}`)
  printLine(`${passed} passed, ${failed} failed${absent === 0 ? '' : `, ${absent} cannot run here`}`)
  return failed === 0 && passed > 0 ? 0 : 1
}

function whose(): Binaries {
  const { binaries } = values
  if (binaries === 'ours' || binaries === 'one' || binaries === 'originals') return binaries
  throw new Error(`--binaries is ours, one or originals, not ${binaries}`)
}

interface Servers {
  readonly targets: readonly Target[]
  /** The only API server for tests that can run on both. */
  readonly preferred?: Target
}

/** Returns the API servers of `--target`. `one` prefers the real server, if this machine has or can build one. */
function chooseServers(): Servers {
  if (values.target === 'both') return { targets: TARGETS }
  if (values.target !== 'one') return { targets: [targetOf(values.target)] }
  if (hasControlPlane(root)) return { targets: TARGETS, preferred: 'real' }
  printLine('without a real API server, which needs Go or KUBEBUILDER_ASSETS: all tests run on the emulator')
  return { targets: ['emulator'] }
}

/** Builds missing programs. Returns instructions if a program is still missing. */
function prepare(binaries: Binaries, { targets }: Servers): string | undefined {
  if (targets.includes('real')) {
    const assets = controlPlaneBinaries(root)
    if ('remedy' in assets) return assets.remedy
  }
  const tools = [
    ...SUBJECTS.map(({ value }) => value.name),
    'kube-controller-manager',
    'kubectl',
    'csi-sanity',
    'snapshot-controller',
    ...(LONG ? ['livenessprobe', 'otel-collector'] : []),
  ]
  if (hasGo()) for (const name of tools) build(root, name)
  const executables = executablesOf(root, binaries)
  const missing = Object.values(executables).find((path) => !existsSync(path))
  if (missing !== undefined) return `${missing} is missing: npm run build`
  return undefined
}

/** Creates the folder of this run, and deletes the oldest folders of earlier runs. */
function reportFolder(): string {
  const parent = join(root, '.cache', 'e2e')
  mkdirSync(parent, { recursive: true })
  const old = readdirSync(parent)
    .filter((name) => name.startsWith('run-'))
    .sort()
  for (const name of old.slice(0, -REPORTS_KEPT)) rmSync(join(parent, name), { recursive: true, force: true })
  const folder = join(parent, `run-${new Date().toISOString().replace(/\D/g, '').slice(0, 14)}-${process.pid}`)
  mkdirSync(folder)
  return folder
}

function selectedTests(title: string): boolean {
  return values.grep.every((text) => title.includes(text)) && !values.skip.some((text) => title.includes(text))
}
