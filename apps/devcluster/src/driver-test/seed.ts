import { CancelledError, type Clock, deadline, scope, toError } from '@csi-sidecars/base'
import type { Driver } from '@csi-sidecars/csi'
import type { ApiServer } from '@csi-sidecars/emulator'
import { type CSIDriver, PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { inDefault, type Missing } from '../chaos/converge.ts'
import { type ChaosEvent, runChaos } from '../chaos/run.ts'
import { killSidecarOf } from '../chaos/seeds.ts'
import { type Devcluster, type DevclusterOptions, startDevcluster } from '../cluster/devcluster.ts'
import { volumeNameOf } from '../provisioner/provision.ts'
import { Checker, type Finding } from './checks/checker.ts'
import { ClusterRules } from './checks/cluster-rules.ts'
import type { Abilities } from './driver/abilities.ts'
import { clearUp } from './driver/clear-up.ts'
import { DriverUnderTest } from './driver/driver-under-test.ts'
import { type OwnNode, OwnNodes } from './driver/nodes.ts'

export interface SeedOptions {
  readonly seed: number
  readonly durationMs: number
  /** How long everything may take to converge. */
  readonly convergeMs: number
  readonly abilities: Abilities
  readonly parameters: Readonly<Record<string, string>>
  readonly inlineAttributes: Readonly<Record<string, string>>
  readonly sidecars: Pick<DevclusterOptions, 'attacher' | 'resizer'>
  /** The object with which the driver's author registers it in a cluster. */
  readonly csiDriver: CSIDriver | undefined
  /** For the sockets and the logs of this seed. */
  readonly directory: string
  /** For the folders of the nodes, where their node services have sockets of their own. */
  readonly data: string
}

export interface SeedParts {
  /** Connected to the driver itself. */
  readonly direct: Driver
  /** Of the driver itself. */
  readonly address: string
  /** Node services with sockets of their own; where there is none it is emulated. */
  readonly ownNodes: readonly OwnNode[]
  readonly kill: (() => void) | undefined
  /** Calls the listener when the driver has ended by itself. Returns the undo. */
  readonly watchDeaths: (listener: (how: string) => void) => () => void
  readonly clock: Clock
  readonly log: Logger
  /** Starts substitutes for the sidecars, in tests. */
  readonly substitutes?: (cluster: Devcluster) => void
}

export interface SeedResult {
  readonly seed: number
  readonly seconds: number
  readonly actions: number
  readonly calls: number
  readonly findings: readonly Finding[]
  /** What the cluster did that it must not do, whatever the driver does. */
  readonly clusterFaults: readonly string[]
  /** What could not be deleted when it was over. */
  readonly leftBehind: readonly string[]
}

/** For a run that has failed or was interrupted, and has to end soon. */
const CLEAR_UP_MS = 20_000

/** One seed: a fresh cluster with the proxy between it and the driver, disturbed by plan, and seedResult. */
export async function runSeed(options: SeedOptions, parts: SeedParts, signal: AbortSignal): Promise<SeedResult> {
  const { seed, durationMs, convergeMs, parameters, abilities } = options
  const { clock, direct, log } = parts
  const startedAt = clock.monotonic()
  const nodes = new OwnNodes(parts.ownNodes, options.data)
  const checker = new Checker({ startedAt, shortened: (path) => nodes.shortened(path) })
  const rules = new ClusterRules(checker.tracker, nodes, abilities.can.methods.includes('ControllerPublishVolume'))
  const { inlineAttributes } = options
  const driverUnderTest = new DriverUnderTest({ ...parts, inlineAttributes, nodes, checker, rules })
  await driverUnderTest.begin(signal)
  try {
    await using stack = new AsyncDisposableStack()
    const died = (how: string): void =>
      checker.find({ check: 'alive', about: undefined, text: `the driver ended ${how} without being asked to` })
    stack.defer(parts.watchDeaths(died))
    const troubles: string[] = []
    const onTrouble = (text: string): void => void troubles.push(text)
    const { cluster, api } = await startCluster(options, { ...parts, driverUnderTest, onTrouble }, { stack, signal })
    const { controllers, nodeNames } = cluster
    const hands = { controllers, nodes: nodeNames, killSidecar: killSidecarOf(cluster) }
    // Until then sidecars are killed by plan.
    const report = ({ is }: ChaosEvent): void => void (is === 'calm' && troubles.splice(0))
    const target = { api, driver: driverUnderTest, ...hands, clock, log, report }
    const chaos = { seed, durationMs, profile: 'driver' as const, can: abilities.can, parameters, convergeMs }
    const { actions, violations, missing, left } = await whileWatched(driverUnderTest, signal, (life) =>
      runChaos(target, chaos, life),
    )
    for (const each of missing) checker.find(unfulfilled(each, api, { checker, troubles }))
    for (const text of left) checker.find(leak(text, { checker, troubles }))
    const seconds = (clock.monotonic() - startedAt) / 1000
    const found = { findings: checker.findings, clusterFaults: [...violations, ...rules.violations] }
    const undeleted = await clearUp({ driver: direct, nodes, clock, tracker: checker.tracker }, signal)
    const leftBehind = [...undeleted, ...left.flatMap((text) => unnamed(/^volume (\S+)/.exec(text)?.[1], checker))]
    return { seed, seconds, actions, calls: checker.calls, ...found, leftBehind }
  } catch (error) {
    // Also after an interruption: what the test has created is not left to the driver's owner.
    using limit = deadline(clock, CLEAR_UP_MS, 'clearing up')
    const left = await clearUp({ driver: direct, nodes, clock, tracker: checker.tracker }, limit.signal)
    for (const text of left) log.info('Left at the driver', { text })
    throw error
  }
}

interface ClusterOwn {
  readonly driverUnderTest: DriverUnderTest
  /** A sidecar has ended. */
  readonly onTrouble: (text: string) => void
}

interface Lives {
  readonly stack: AsyncDisposableStack
  readonly signal: AbortSignal
}

async function startCluster(
  { abilities, sidecars, csiDriver, directory, data }: SeedOptions,
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
      ...sidecars,
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

/** Looks at the driver's list while the work lasts, and ends the work when that is not possible. */
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

interface Known {
  readonly checker: Checker
  /** Sidecars that have ended though nothing disturbed them any more, the last of them last. */
  readonly troubles: readonly string[]
}

/** With the driver's last error message about the volume, and with the last sidecar that ended. */
function unfulfilled({ text, claim }: Missing, api: ApiServer, { checker, troubles }: Known) {
  const found = claim === undefined ? undefined : api.get(PERSISTENT_VOLUME_CLAIMS, inDefault(claim))
  const about = found && volumeNameOf({ uid: found.metadata?.uid ?? '' })
  return { check: 'converges' as const, about, text: joined(text, checker.lastWords(about), troubles.at(-1)) }
}

/** With the driver's error message, where it refused to delete it. */
function leak(text: string, { checker, troubles }: Known) {
  const about = volumeIn(text)
  const words = about === undefined ? undefined : checker.lastWords(about)
  return { check: 'noLeak' as const, about, text: joined(text, words, troubles.at(-1)) }
}

function joined(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined).join('; ')
}

/** Volumes that no answer names may belong to another user: they are not deleted. */
function unnamed(id: string | undefined, { tracker }: Checker): readonly string[] {
  return id === undefined || tracker.get(id) !== undefined
    ? []
    : [`volume ${id}: no answer names it, so it was not deleted`]
}

/** A volume's id, or the name under which it was to be created. */
function volumeIn(text: string): string | undefined {
  return /\b(?:PersistentV|v)olume (\S+)/.exec(text)?.[1]
}
