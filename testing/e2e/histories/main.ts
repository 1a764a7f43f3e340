// Runs a random history (a sequence of steps) with our sidecars and the Go sidecars, then checks the invariants.
import { statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { messageOf } from '@csi-sidecars/base'
import { COUNT, readArguments } from '@csi-sidecars/command'
import {
  type Finding,
  runSeeds,
  SEEDS,
  seedsOf,
  shrink,
  type Timed,
  tableOf,
  type Verdict,
} from '@csi-sidecars/disturb'
import { APPS } from '@csi-sidecars/sidecars'
import type { Cluster } from '../harness/api/cluster.ts'
import { openCluster, targetOf } from '../harness/api/open-cluster.ts'
import { errorText, TestContext } from '../harness/context.ts'
import { temporaryFolder } from '../harness/process/processes.ts'
import { build, cacheFolder, copied, hasGo } from '../harness/programs/binaries.ts'
import { bySubject, type Executables, type TestedApp } from '../harness/subject.ts'
import { briefly } from '../model/overlaps.ts'
import { PLUGIN, type Variant } from '../model/provisions.ts'
import { endDifferences } from './ends.ts'
import { type History, type HistoryStep, historyOf, type Profile, SUBJECTS, textOf } from './plan.ts'
import { type End, HistorySide } from './side.ts'

const { values } = readArguments(
  'npm run histories -- [--seeds 1-300] [--against PATH] [--only ours] [--target real|emulator] [--app attacher|resizer|provisioner|snapshotter|all] [--profile small|storm] [--concurrency N] [--tries N]',
  {
    options: {
      seeds: { type: 'string', default: '1-300' },
      against: { type: 'string' },
      only: { type: 'string' },
      target: { type: 'string', default: 'real' },
      app: { type: 'string' },
      profile: { type: 'string', default: 'small' },
      concurrency: { type: 'string' },
      tries: { type: 'string', default: '60' },
    },
  },
  {
    seeds: SEEDS,
    only: /^ours$/,
    target: /^(real|emulator)$/,
    app: /^(attacher|resizer|provisioner|snapshotter|all)$/,
    profile: /^(small|storm)$/,
    concurrency: COUNT,
    tries: /^\d+$/,
  },
)

/** A failed history is repeated this often. If no repetition fails, the history is not reduced to fewer steps. */
const REPETITIONS = 3
/**
 * The number of checks, one every half second, in which the objects must converge after a history. `shrinking` applies
 * while a failed history is repeated and reduced to fewer steps.
 */
const MAX_CHECKS = { ours: 120, originals: 60, shrinking: 30 }
const TEXTS: Readonly<Record<Variant, string>> = {
  usual: '',
  node: ', with --node-deployment',
  migrated: `, migrated from ${PLUGIN.name}`,
}
const profile: Profile = values.profile === 'storm' ? 'storm' : 'small'
/** A history with the profile `storm` runs alone, because it needs the whole machine. */
const concurrency = Number(values.concurrency ?? (profile === 'storm' ? 1 : 6))
const root = resolve(import.meta.dirname, '../../..')
const target = targetOf(values.target)
const reports = join(root, '.cache', 'e2e', 'histories')
const ours = copied(root)
/** The Go sidecars do not run with `--app all`, because none of them runs several sidecars in one process. */
const originals =
  values.only === 'ours' || values.app === 'all' ? undefined : originalsAt(values.against ?? builtOriginals())
const count = { original: 0 }
/** The last history with the variant `migrated`. They run one after the other, because their drivers have one name. */
let lastMigrated: Promise<unknown> = Promise.resolve()
let contexts = 0
const printLine = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

process.exitCode = await main()

async function main(): Promise<number> {
  await using lane = await openCluster(root, target, reports)
  const seeds = seedsOf('seeds', values.seeds)
  const options = `--target ${target} --profile ${profile}${values.app === undefined ? '' : ` --app ${values.app}`}`
  const again = (seed: number): string => `npm run histories -- --seeds ${seed} ${options}`
  const run = (seed: number): Promise<Verdict> => validate(lane.cluster, historyOf(seed, profile, appsOf(seed)))
  const allPassed = await runSeeds(seeds, { run, printLine, title: target, again, concurrency })
  if (originals !== undefined)
    printLine(`the Go sidecars ended in a wrong state in ${count.original} of ${seeds.length}`)
  return allPassed ? 0 : 1
}

async function validate(cluster: Cluster, history: History): Promise<Verdict> {
  const began = performance.now()
  const { apps, replicas, listing, finalizes, variant, steps } = history
  const outcome = await both(cluster, history, true)
  if (outcome.original !== undefined && outcome.original.findings.length > 0) count.original += 1
  const originalRules = [...new Set(outcome.original?.findings.map(({ rule }) => rule))].join('; ')
  const summary = [
    `${apps.join('+')}${replicas > 1 ? ', two replicas' : ''}${listing ? ', with ListVolumes' : ''}${finalizes ? ', with --finalize-claims' : ''}${TEXTS[variant]}`,
    `${steps.length} steps, ${outcome.ours.calls.length} calls, ${((performance.now() - began) / 1000).toFixed(1)} s`,
    ...(originalRules === '' ? [] : [`the Go sidecars: ${originalRules}`]),
    ...[...outcome.ours.limits].map((limit) => `known limit: ${limit}`),
  ].join('; ')
  const { findings } = outcome
  if (findings.length === 0) return { findings, summary }
  const details = ({ subject: volumeId }: Finding): string[] =>
    outcome.ours.calls.filter(({ request }) => request['volume_id'] === volumeId).map(briefly)
  return { findings, summary, details, appendix: await smallest(cluster, history, findings) }
}

interface Outcome {
  readonly ours: End
  readonly original: End | undefined
  readonly findings: readonly Finding[]
}

/** Runs the history with both implementations. Compares their end states only if both satisfy the invariants. */
async function both(cluster: Cluster, history: History, report: boolean): Promise<Outcome> {
  const [end, original] = await Promise.all([
    live(cluster, history, { executables: ours, report }),
    originals === undefined ? undefined : live(cluster, history, { executables: originals, report }),
  ])
  const right = original !== undefined && original.findings.length === 0 && end.findings.length === 0
  const differences = right ? endDifferences(end.objects, original.objects) : []
  const findings = [...end.findings, ...differences.map((text) => ({ rule: 'the ends agree', text }))]
  return { ours: end, original, findings }
}

interface Run {
  readonly executables: Executables
  readonly report: boolean
}

function live(cluster: Cluster, history: History, run: Run): Promise<End> {
  if (history.variant !== 'migrated') return liveNow(cluster, history, run)
  const end = lastMigrated.then(() => liveNow(cluster, history, run))
  lastMigrated = end
  return end
}

async function liveNow(cluster: Cluster, history: History, { executables, report }: Run): Promise<End> {
  contexts += 1
  const binaries = executables === ours ? 'ours' : 'originals'
  const [app = 'attacher'] = history.apps
  const driverName = history.variant === 'migrated' ? PLUGIN.driver : undefined
  const common = { app, binaries, executables, target, cluster, driverName } as const
  const t = new TestContext({ ...common, folder: temporaryFolder('histories'), id: `h${contexts}` })
  try {
    const end = await new HistorySide(t, history, MAX_CHECKS[report ? binaries : 'shrinking']).run()
    if (report && end.findings.length > 0) t.report(placeOf(history, binaries), end.findings.map(lineOf).join('\n'))
    return end
  } catch (error) {
    if (report) t.report(placeOf(history, binaries), error)
    return {
      findings: [{ rule: 'the history can be run', text: errorText(error) }],
      objects: new Map(),
      calls: [],
      limits: new Set(),
    }
  } finally {
    await t.close().catch((error: unknown) => printLine(`${t.id}: could not clean up: ${messageOf(error)}`))
  }
}

/** Looks for fewer steps with which the history still violates one of the same rules. Returns the steps as a table. */
async function smallest(cluster: Cluster, history: History, found: readonly Finding[]): Promise<readonly string[]> {
  const place = `the logs of all sides are in ${placeOf(history, '*')}`
  const rules = new Set(found.map(({ rule }) => rule))
  const fails = async (steps: readonly Timed<HistoryStep>[]): Promise<boolean> => {
    const { findings } = await both(cluster, { ...history, steps }, false)
    return findings.some(({ rule }) => rules.has(rule))
  }
  const tries = Number(values.tries)
  if (tries === 0 || profile === 'storm') return [place]
  const repeated = await Promise.all(Array.from({ length: REPETITIONS }, () => fails(history.steps)))
  const times = repeated.filter((failed) => failed).length
  if (times === 0) return [`held ${REPETITIONS} times when it was repeated; ${place}`]
  const focused = await focus(history.steps, fails)
  const steps = await shrink(focused, fails, { tries, concurrency: 4 })
  const rows = steps.map(({ afterMs, step }, nth) => [String(nth + 1), `+${afterMs} ms`, ...textOf(step)])
  return [
    `${times} of ${REPETITIONS} repetitions failed; ${steps.length} of ${history.steps.length} steps:`,
    ...tableOf(rows),
    place,
  ]
}

/** Returns the steps of one volume or claim, and all faults, if they fail alone. Otherwise returns all steps. */
async function focus(
  steps: readonly Timed<HistoryStep>[],
  fails: (steps: readonly Timed<HistoryStep>[]) => Promise<boolean>,
): Promise<readonly Timed<HistoryStep>[]> {
  const indexes = [...new Set(steps.flatMap(({ step }) => (step.of === 'fault' ? [] : [step.index])))]
  const stepsByObject = indexes.map((index) => steps.filter(({ step }) => step.of === 'fault' || step.index === index))
  const failed = await Promise.all(stepsByObject.map(fails))
  return stepsByObject[failed.indexOf(true)] ?? steps
}

function lineOf({ rule, text }: Finding): string {
  return `${rule}: ${text}`
}

function placeOf({ seed }: History, side: string): string {
  return join(reports, `${target}-${seed}-${side}`)
}

/** Returns the sidecars of a history. By default, odd seeds test the attacher, and even seeds test the resizer. */
function appsOf(seed: number): readonly TestedApp[] {
  if (values.app === undefined) return [seed % 2 === 1 ? 'attacher' : 'resizer']
  return (Object.keys(SUBJECTS) as TestedApp[]).filter((app) => values.app === 'all' || app === values.app)
}

/** Builds the Go sidecars if Go is installed, and returns their folder. */
function builtOriginals(): string {
  if (hasGo()) for (const app of APPS) build(root, `csi-${app}`)
  return cacheFolder(root)
}

/** Returns the executables at a path, which is a folder with all Go sidecars, or one executable. */
function originalsAt(path: string): Executables {
  const folder = statSync(path).isDirectory() ? path : undefined
  const of = (name: string): string => (folder === undefined ? path : join(folder, name))
  if (folder === undefined && values.app === undefined && !basename(path).includes('attacher')) {
    throw new Error(`--against ${path} is one executable: say whose by --app`)
  }
  return { ...bySubject((app) => of(`csi-${app}`)), both: '' }
}
