import { type Clock, unreachable } from '@csi-sidecars/base'
import type { Controllers } from '@csi-sidecars/devcluster'
import type { CallFault } from '@csi-sidecars/disturb'
import type { ApiServer, FaultAction, FaultMatch } from '@csi-sidecars/emulator'
import {
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaimSpec,
  PODS,
  STORAGE_CLASSES,
  VOLUME_ATTRIBUTES_CLASSES,
  VOLUME_SNAPSHOT_CLASSES,
  VOLUME_SNAPSHOTS,
} from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import type { ApiFault, ChaosAction } from './action.ts'
import { CLEANUP_METHODS } from './call-faults.ts'
import { type Expected, inDefault, type Missing, waitConverged, waitGone } from './converge.ts'
import { Monitor, type Sighting } from './monitor.ts'
import {
  attributesClasses,
  attributesClassOf,
  claimOf,
  classObjects,
  podOf,
  snapshotClass,
  snapshotOf,
} from './objects.ts'
import { type PlanOptions, planOf } from './plan.ts'
import { type WatchedDriver, watchAll } from './watch.ts'

/** The driver under test, with the ways to disturb it. */
export interface ChaosDriver extends WatchedDriver {
  readonly name: string
  /** The volume attributes of inline volumes. */
  readonly inlineAttributes?: Readonly<Record<string, string>>
  /**
   * Kills the driver with SIGKILL, and starts it again after `forMs`. Undefined if the test has not started the driver.
   */
  readonly crash?: (forMs: number) => Promise<void>
  /** Injects a fault into the next CSI call of the method. */
  readonly breakCall?: (method: string, fault: CallFault) => void
  /** Ends all faults. */
  calm(): Promise<void>
  /** Checks the driver after everything has converged. */
  inspect?(signal: AbortSignal): Promise<void>
  /** Returns the remaining volumes after everything was deleted. */
  left(signal: AbortSignal): Promise<readonly string[]>
}

/** The cluster of the test, with the ways to disturb it. */
export interface ChaosTarget {
  readonly api: ApiServer
  readonly driver: ChaosDriver
  readonly controllers: Controllers
  readonly nodes: readonly string[]
  /** Kills a sidecar with SIGKILL. It starts again by itself. */
  readonly killSidecar: (which: number) => Promise<void>
  readonly clock: Clock
  /** The log of all actions and observations with their times. It shows the cause of a violation. */
  readonly log: Logger
  /** Called with each action, with each violation, and at the end of the faults. */
  readonly report?: ((event: ChaosEvent) => void) | undefined
}

export type ChaosEvent =
  | { readonly kind: 'action'; readonly action: ChaosAction }
  | { readonly kind: 'violation'; readonly text: string }
  /** The faults have ended. From now on all objects have to converge. */
  | { readonly kind: 'calm' }

/** The options of a run with faults. Times are in milliseconds. */
export interface ChaosOptions extends Omit<PlanOptions, 'nodes'> {
  /** The parameters of the StorageClass. */
  readonly parameters?: Readonly<Record<string, string>>
  /** The time limit for all objects to converge after the last fault. */
  readonly convergeMs: number
}

/** The counts and the violations of a run with faults. */
export interface ChaosResult {
  readonly actions: number
  /** The violations of rules by sidecars and controllers. */
  readonly violations: readonly string[]
  /** Requested states that were not reached. */
  readonly missing: readonly Missing[]
  /** Objects that were not deleted. */
  readonly left: readonly string[]
}

/** Performs the planned actions while the monitor checks the rules. Then it checks that all objects converge. */
export async function runChaos(target: ChaosTarget, options: ChaosOptions, signal: AbortSignal): Promise<ChaosResult> {
  const { clock, nodes, api } = target
  const monitor = new Monitor()
  const stopWatching = watchAll(target, (sighting) => see(sighting, monitor, target))
  const expected: Expected = { claims: new Map(), pods: new Map(), classes: new Map(), snapshots: new Map() }
  const repairs = new Set<Promise<void>>()
  const { parameters, can, convergeMs } = options
  const classes = classObjects({ provisioner: target.driver.name, parameters, zones: can.zones ?? [] })
  for (const each of classes) api.create(STORAGE_CLASSES, each)
  api.create(VOLUME_SNAPSHOT_CLASSES, snapshotClass(target.driver.name))
  const ofAttributes = attributesClasses(target.driver.name, can.attributes ?? [])
  for (const each of ofAttributes) api.create(VOLUME_ATTRIBUTES_CLASSES, each)
  try {
    const plan = planOf({ ...options, nodes })
    for (const { afterMs, step: action } of plan) {
      await clock.sleep(afterMs, signal)
      target.log.info('Chaos', { ...action })
      target.report?.({ kind: 'action', action })
      perform(action, target, { expected, repairs })
    }
    await Promise.all(repairs)
    api.faults.clear()
    await target.driver.calm()
    target.report?.({ kind: 'calm' })
    // The driver refuses the last class, so a claim with this class must get another class to converge.
    const refused = ofAttributes.at(-1)?.metadata?.name
    for (const [claim, name] of expected.classes) if (name === refused) modifyClaim({ claim, to: 0 }, api, expected)
    const missing = await waitConverged(target, expected, { convergeMs, signal })
    await target.driver.inspect?.(signal)
    for (const method of CLEANUP_METHODS) target.driver.breakCall?.(method, { kind: 'repeat' })
    const left = missing.length > 0 ? [] : await waitGone(target, expected, { convergeMs, signal })
    return { actions: plan.length, violations: monitor.violations, missing, left }
  } finally {
    stopWatching()
  }
}

/** Passes an observation to the monitor, and logs it, so that the log shows the events before a violation. */
function see(sighting: Sighting, monitor: Monitor, { log, report }: ChaosTarget): void {
  const before = monitor.violations.length
  log.v(2)?.info('Seen', { ...sighting })
  monitor.see(sighting)
  for (const violation of monitor.violations.slice(before)) {
    log.error(undefined, 'Violated', { violation })
    report?.({ kind: 'violation', text: violation })
  }
}

interface Progress {
  readonly expected: Expected
  readonly repairs: Set<Promise<void>>
}

function perform(action: ChaosAction, target: ChaosTarget, { expected, repairs }: Progress): void {
  const { api } = target
  const trackRepair = (work: Promise<void>): void => {
    repairs.add(work)
    void work.finally(() => repairs.delete(work))
  }
  switch (action.kind) {
    case 'createClaim':
      expected.claims.set(action.claim, action.size)
      return void api.create(PERSISTENT_VOLUME_CLAIMS, claimOf(action))
    case 'createPod':
      return createPod(action, api, expected)
    case 'createInlinePod':
      expected.pods.set(action.pod, undefined)
      return void api.create(PODS, inlinePod(action, target))
    case 'deletePod':
      return deletePod(action.pod, api, expected)
    case 'movePod':
      deletePod(action.pod, api, expected)
      return createPod({ ...action, pod: action.to }, api, expected)
    case 'resizeClaim': {
      const { claim, size } = action
      if (changeBound(claim, { resources: { requests: { storage: `${size}Gi` } } }, api))
        expected.claims.set(claim, size)
      return
    }
    case 'modifyClaim':
      return modifyClaim(action, api, expected)
    case 'deleteClaim':
      expected.claims.delete(action.claim)
      expected.classes.delete(action.claim)
      return api.delete(PERSISTENT_VOLUME_CLAIMS, inDefault(action.claim))
    case 'createSnapshot':
      expected.snapshots.set(action.snapshot, action.claim)
      return void api.create(VOLUME_SNAPSHOTS, snapshotOf(action.snapshot, action.claim))
    case 'deleteSnapshot':
      expected.snapshots.delete(action.snapshot)
      return api.delete(VOLUME_SNAPSHOTS, inDefault(action.snapshot))
    case 'crashDriver':
      return target.driver.crash === undefined ? undefined : trackRepair(target.driver.crash(action.forMs))
    case 'breakCall':
      return target.driver.breakCall?.(action.method, action.fault)
    case 'breakApi':
      return breakApi(api, action.how, target.clock)
    case 'restartController':
      return trackRepair(restartController(target.controllers, action.which))
    case 'killSidecar':
      return trackRepair(target.killSidecar(action.which))
    default:
      unreachable(action)
  }
}

function createPod(
  { pod, node, claim }: { readonly pod: string; readonly node: string; readonly claim: string },
  api: ApiServer,
  expected: Expected,
): void {
  expected.pods.set(pod, claim)
  const block = api.get(PERSISTENT_VOLUME_CLAIMS, inDefault(claim))?.spec?.volumeMode === 'Block'
  api.create(PODS, podOf({ pod, node, block, volume: { persistentVolumeClaim: { claimName: claim } } }))
}

function deletePod(pod: string, api: ApiServer, expected: Expected): void {
  expected.pods.delete(pod)
  if (api.get(PODS, inDefault(pod)) !== undefined) api.delete(PODS, inDefault(pod))
}

function inlinePod({ pod, node }: Extract<ChaosAction, { kind: 'createInlinePod' }>, { driver }: ChaosTarget) {
  const { name, inlineAttributes } = driver
  const csi = { driver: name, ...(inlineAttributes !== undefined && { volumeAttributes: { ...inlineAttributes } }) }
  return podOf({ pod, node, block: false, volume: { csi } })
}

function modifyClaim(
  { claim, to }: { readonly claim: string; readonly to: number },
  api: ApiServer,
  { classes }: Expected,
): void {
  const volumeAttributesClassName = attributesClassOf(to)
  if (changeBound(claim, { volumeAttributesClassName }, api)) classes.set(claim, volumeAttributesClassName)
}

/** Changes the spec of a bound claim. The API server refuses a change of an unbound claim. */
function changeBound(claim: string, change: PersistentVolumeClaimSpec, api: ApiServer): boolean {
  const ref = inDefault(claim)
  if (api.get(PERSISTENT_VOLUME_CLAIMS, ref)?.status?.phase !== 'Bound') return false
  api.update(PERSISTENT_VOLUME_CLAIMS, ref, (old) => ({ ...old, spec: { ...old.spec, ...change } }))
  return true
}

async function restartController(controllers: Controllers, which: number): Promise<void> {
  const names = ['persistent-volume', 'attach-detach', 'volume-manager']
  await controllers.restart(names[which % names.length] ?? '')
}

/** The number of API requests that a fault affects. */
const REQUESTS_PER_FAULT = 6

/** The time for which the API server is unreachable. */
const OUTAGE_MS = 2_000

const WRITES: readonly NonNullable<FaultMatch['verb']>[] = ['create', 'patch', 'delete']

/** Injects a fault into the next requests to the API server. */
function breakApi(api: ApiServer, how: ApiFault, clock: Clock): void {
  switch (how) {
    case 'conflict':
      injectFault(api, ['patch'], { kind: 'answer', code: 409, reason: 'Conflict' })
      return
    case 'tooMany':
      injectFault(api, WRITES, { kind: 'answer', code: 429, retryAfterSeconds: 1 })
      return
    case 'internal':
      injectFault(api, WRITES, { kind: 'answer', code: 500 })
      return
    case 'lostAnswer':
      injectFault(api, WRITES, { kind: 'cut', applied: true })
      return
    case 'slow':
      injectFault(api, [...WRITES, 'get'], { kind: 'delay', ms: 200 })
      return
    case 'dropWatches':
      api.dropWatches({ how: 'cut' })
      return
    case 'compact':
      api.compact()
      api.dropWatches()
      return
    case 'away': {
      const { remove } = api.faults.add({ action: { kind: 'cut' } })
      api.dropWatches({ how: 'cut' })
      clock.schedule(OUTAGE_MS, remove)
      return
    }
  }
}

function injectFault(api: ApiServer, verbs: readonly NonNullable<FaultMatch['verb']>[], action: FaultAction): void {
  for (const verb of verbs) api.faults.add({ match: { verb }, times: REQUESTS_PER_FAULT, share: 0.5, action })
}
