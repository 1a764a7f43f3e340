import { CancelledError, type Clock, deadline, messageOf, scope, toError } from '@csi-sidecars/base'
import type { Driver } from '@csi-sidecars/csi'
import { type Devcluster, type SidecarPaths, startDevcluster } from '@csi-sidecars/devcluster'
import type { ApiServer } from '@csi-sidecars/emulator'
import { type CSIDriver, PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { inDefault, type Missing } from './chaos/converge.ts'
import { type ChaosEvent, runChaos } from './chaos/run.ts'
import { Checker, type Finding } from './checks/checker.ts'
import type { Violation } from './checks/checks.ts'
import type { Abilities } from './driver/abilities.ts'
import { clearUp } from './driver/clear-up.ts'
import { ClusterRules } from './driver/cluster-rules.ts'
import { DirectCalls } from './driver/direct-calls.ts'
import type { OwnDriverProcess } from './driver/driver-process.ts'
import { DriverUnderTest } from './driver/driver-under-test.ts'
import { mountOptions, mountsBelow } from './driver/mounts.ts'
import { type OwnNode, OwnNodes } from './driver/nodes.ts'
import type { DriverTestOptions } from './options.ts'
import { checkData } from './questions/data.ts'
import { checkKills } from './questions/killed.ts'
import { checkMountOptions } from './questions/mount-options.ts'
import { checkRepeated } from './questions/repeated.ts'
import { Setting } from './questions/setting.ts'
import { checkSnapshots } from './questions/snapshots.ts'
import { askStrictly } from './questions/strict.ts'

/** The command line as far as it concerns one seed. Times are in milliseconds. */
export interface SeedOptions extends Pick<DriverTestOptions, 'parameters' | 'inlineAttributes' | 'strict'> {
  readonly seed: number
  readonly durationMs: number
  /** The time limit for all objects to converge after the faults. */
  readonly convergeMs: number
  readonly abilities: Abilities
  readonly binaries: SidecarPaths
  readonly csiDriver: CSIDriver | undefined
  /** The folder for the sockets and the logs of this seed. */
  readonly directory: string
  /** The folder that has a folder for each node, if the node services have separate sockets. */
  readonly data: string
}

/** The driver, the executables and the folders of the run of a seed. */
export interface SeedParts {
  /** A connection to the driver without the proxy. */
  readonly direct: Driver
  readonly address: string
  /** The node services with separate sockets. Empty: the node service is emulated. */
  readonly ownNodes: readonly OwnNode[]
  /** The process of the driver, if the test has started it. */
  readonly ownProcess: Pick<OwnDriverProcess, 'kill' | 'killAll' | 'watchDeaths'> | undefined
  /** Aborted when the driver has ended by itself too often. */
  readonly gone?: AbortSignal | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly onProgress?: (progress: SeedProgress) => void
  /** Starts substitutes for the sidecars. Only tests use it. */
  readonly substitutes?: (cluster: Devcluster) => void
}

/** The progress of a seed, for the progress line. */
export interface SeedProgress {
  /** The elapsed share of the time for faults, 0 to 1. */
  readonly done: number
  readonly doing: string
  readonly calls: number
  readonly found: number
}

/** The findings and counts of a seed, for the reports. */
export interface SeedResult {
  /** The title in reports: `seed 7`, or the name of the part of the test before the first seed. */
  readonly title: string
  readonly seed: number | undefined
  readonly seconds: number
  readonly actions: number
  readonly calls: number
  readonly callsOf: ReadonlyMap<string, number>
  readonly findings: readonly Finding[]
  /** The broken rules of the cluster, which are not faults of the driver. */
  readonly clusterFaults: readonly string[]
  /** The objects that could not be deleted at the end. */
  readonly undeleted: readonly string[]
  /** True if the run has ended early. */
  readonly interrupted: boolean
  /** The differences from the run with other sidecars. Undefined without a comparison. */
  readonly comparison?: readonly string[]
}

/** The time limit of the cleanup after a failed or interrupted run. */
const CLEAR_UP_MS = 20_000

/** Runs one seed in a new cluster, with a proxy before the driver, random actions and faults, and all checks. */
export async function runSeed(options: SeedOptions, deps: SeedParts, asked: AbortSignal): Promise<SeedResult> {
  using life = scope(asked, deps.gone)
  const { signal } = life
  const { seed, abilities } = options
  const { clock, direct, log } = deps
  const startedAt = clock.monotonic()
  const nodes = new OwnNodes(deps.ownNodes, options.data)
  const checker = new Checker({ startedAt, shortened: (path) => nodes.shortened(path) })
  const rules = new ClusterRules(checker.tracker, nodes, abilities.can.methods.includes('ControllerPublishVolume'))
  const driverUnderTest = new DriverUnderTest({ ...options, ...deps, nodes, mountsBelow, checker, rules })
  await driverUnderTest.begin(signal)
  const result = (change: Partial<SeedResult>): SeedResult => ({
    title: `seed ${seed}`,
    seed,
    seconds: (clock.monotonic() - startedAt) / 1000,
    actions: 0,
    calls: checker.calls,
    callsOf: checker.callsOf,
    findings: checker.findings,
    clusterFaults: rules.violations,
    undeleted: [],
    interrupted: false,
    ...change,
  })
  const undo = { driver: direct, nodes, clock, checker }
  try {
    await using stack = new AsyncDisposableStack()
    const died = (how: string): void =>
      checker.report({ check: 'alive', subjectId: undefined, text: `the driver ended ${how} without being asked to` })
    if (deps.ownProcess !== undefined) stack.defer(deps.ownProcess.watchDeaths(died))
    /** The messages about sidecars that have ended since the last fault. */
    const troubles: string[] = []
    const onTrouble = (text: string): void => void troubles.push(text)
    const { cluster, api } = await startCluster(options, { ...deps, driverUnderTest, onTrouble }, { stack, signal })
    const { controllers, nodeNames } = cluster
    // The test does not kill the provisioner: if killed, it may forget a volume, as the Go provisioner may.
    const killed = cluster.sidecars.filter(({ sidecar }) => sidecar.name !== 'csi-provisioner')
    const killSidecar = async (which: number): Promise<void> => {
      killed[which % Math.max(1, killed.length)]?.sidecar.kill('SIGKILL')
    }
    const hands = { controllers, nodes: nodeNames, killSidecar }
    const progress = watchProgress(options, { deps, checker })
    stack.defer(progress.stop)
    const report = ({ kind }: ChaosEvent): void => {
      if (kind !== 'calm') return
      // The test drops the messages about sidecars that ended during the faults, because the plan has killed them.
      troubles.splice(0)
      progress.now(`everything has to converge, in ${options.convergeMs / 1000} s at most`)
    }
    const target = { api, driver: driverUnderTest, ...hands, clock, log, report }
    const chaos = { ...options, can: abilities.can }
    const { actions, violations, missing, left } = await whileWatched(driverUnderTest, signal, (life) =>
      runChaos(target, chaos, life),
    )
    for (const each of missing) checker.findUnfulfilled(unfulfilled(each, api), troubles.at(-1))
    for (const text of left)
      checker.findUnfulfilled({ check: 'noLeak', subjectId: subjectIn(text), text }, troubles.at(-1))
    if (options.strict) {
      progress.now('direct questions')
      const calls = new DirectCalls({ clock, signal, report: (call) => checker.see(call) })
      const setting = new Setting({
        ...options,
        driver: direct,
        nodes,
        calls,
        find: (broken) => checker.report(broken),
        unique: `${seed}-${clock.now()}`,
        mountOptions,
        pause: (ms) => clock.sleep(ms, signal),
        kill: deps.ownProcess?.killAll,
      })
      for (const ask of [askStrictly, checkRepeated, checkData, checkMountOptions, checkSnapshots, checkKills])
        await ask(setting)
    }
    const kept = await clearUp(undo, signal)
    const undeleted = [...kept, ...left.flatMap((text) => unnamed(text, checker))]
    return result({ actions, clusterFaults: [...violations, ...rules.violations], undeleted })
  } catch (error) {
    if (deps.gone?.aborted === true)
      return result({ undeleted: [`all of it: ${messageOf(deps.gone.reason)}`], interrupted: true })
    // The test deletes its volumes even after a failure or an interruption, because others may use the driver.
    using limit = deadline(clock, CLEAR_UP_MS, { operation: 'clearing up' })
    const undeleted = await clearUp(undo, limit.signal)
    for (const text of undeleted) log.info('Left in the back end', { text })
    if (!signal.aborted) throw error
    return result({ undeleted, interrupted: true })
  }
}

const PROGRESS_MS = 1_000

function watchProgress(
  { durationMs }: SeedOptions,
  { deps: { clock, onProgress }, checker }: { readonly deps: SeedParts; readonly checker: Checker },
) {
  const startedAt = clock.monotonic()
  let doing = 'faults'
  let cancel = (): void => undefined
  const show = (): void => {
    const done = Math.min(1, (clock.monotonic() - startedAt) / durationMs)
    onProgress?.({ done, doing, calls: checker.calls, found: checker.findings.length })
    cancel = clock.schedule(PROGRESS_MS, show)
  }
  show()
  const now = (activity: string): void => {
    doing = activity
    cancel()
    show()
  }
  return { now, stop: () => cancel() }
}

interface ClusterOwn {
  readonly driverUnderTest: DriverUnderTest
  /** Called when a sidecar has ended. */
  readonly onTrouble: (text: string) => void
}

interface Lives {
  readonly stack: AsyncDisposableStack
  readonly signal: AbortSignal
}

async function startCluster(
  { abilities, binaries, csiDriver, directory, data }: SeedOptions,
  { driverUnderTest, onTrouble, address, ownNodes, clock, log, substitutes }: SeedParts & ClusterOwn,
  { stack, signal }: Lives,
): Promise<{ readonly cluster: Devcluster; readonly api: ApiServer }> {
  const cluster = await startDevcluster(
    {
      nodes: abilities.nodes.length,
      knownNodes: abilities.nodes,
      ...(ownNodes.length > 0 && { nodeSockets: ownNodes.map((each) => each.address), data }),
      driver: address,
      csiDriver,
      proxy: driverUnderTest,
      binaries,
      sidecarArgs: ['--retry-interval-max=5s'],
      directory,
      clock,
      log,
      onTrouble: (message) => {
        log.info('Trouble', { message })
        onTrouble(message)
      },
    },
    signal,
  )
  stack.defer(() => cluster.stop())
  const { api } = cluster
  if (api === undefined) throw new Error('the API server is not emulated')
  substitutes?.(cluster)
  return { cluster, api }
}

/** Calls ListVolumes periodically while `work` runs. An unexpected error of these calls aborts `work`. */
async function whileWatched<T>(
  driverUnderTest: DriverUnderTest,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  using life = scope(signal)
  const over = new CancelledError('nothing is left to look at')
  let failure: Error | undefined
  const looks = driverUnderTest.watchList(life.signal).catch((error: unknown) => {
    failure = toError(error)
    life.abort(failure)
  })
  try {
    return await work(life.signal)
  } catch (error) {
    throw failure ?? error
  } finally {
    life.abort(over)
    await looks
  }
}

/** Returns the violation for a requested state that was not reached, with the name of the claim's volume. */
function unfulfilled({ text, claim }: Missing, api: ApiServer): Violation {
  const found = claim === undefined ? undefined : api.get(PERSISTENT_VOLUME_CLAIMS, inDefault(claim))
  const subjectId = found && `pvc-${found.metadata?.uid}`
  return { check: 'converges', subjectId, text }
}

/** Returns a message if no answer of the driver names the volume or snapshot, which is not deleted then. */
function unnamed(text: string, { tracker, snapshots }: Checker): readonly string[] {
  const [, kind, id = ''] = /^(volume|snapshot) (\S+)/.exec(text) ?? []
  return kind === undefined || (kind === 'volume' ? tracker : snapshots).get(id) !== undefined
    ? []
    : [`${kind} ${id}: no answer names it, so it was not deleted`]
}

/** Returns the ID of a volume or snapshot, or its requested name, in a text about a remaining object. */
function subjectIn(text: string): string | undefined {
  const subject = /^(?:PersistentVolume|VolumeSnapshotContent|volume|snapshot) (\S+)/.exec(text)?.[1]
  return subject?.replace(/^snapcontent-/, 'snapshot-')
}
