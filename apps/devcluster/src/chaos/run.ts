import { abortable, type Clock, deadline, unreachable } from '@csi-sidecars/base'
import type { ApiServer, CsiDriver } from '@csi-sidecars/emulator'
import {
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  Quantity,
  type Resource,
  STORAGE_CLASSES,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import type { Controllers } from '../cluster/controllers.ts'
import { breakApi } from './faults.ts'
import { Monitor, type Sighting } from './monitor.ts'
import { type Action, planOf } from './plan.ts'
import { watchAll } from './watch.ts'

/** A cluster that may be broken. */
export interface ChaosTarget {
  readonly api: ApiServer
  readonly driver: CsiDriver
  readonly controllers: Controllers
  readonly nodes: readonly string[]
  /** Ends one of the sidecars as SIGKILL does; it comes back by itself. */
  readonly killSidecar: (which: number) => Promise<void>
  readonly clock: Clock
  /** What is done, and when, for whoever has to find out why something did not hold. */
  readonly log: Logger
}

export interface ChaosOptions {
  readonly seed: number
  readonly durationMs: number
  readonly profile: 'all' | 'restarts'
  /** How long everything may take to come right when nothing disturbs any more. */
  readonly calmMs: number
}

export interface ChaosResult {
  readonly actions: number
  readonly violations: readonly string[]
}

const CLASS = 'chaos'

/** What should be there when all is quiet, by what was asked for. */
interface Expected {
  readonly claims: Map<string, number>
  readonly pods: Map<string, string>
}

/** Lets a seed's plan loose on the cluster and watches that what must hold holds; then that everything comes right. */
export async function runChaos(target: ChaosTarget, options: ChaosOptions, signal: AbortSignal): Promise<ChaosResult> {
  const { clock, nodes, api } = target
  const monitor = new Monitor({ exactly: options.profile === 'restarts' })
  const leave = watchAll(target, (sighting) => see(sighting, monitor, target.log))
  const expected: Expected = { claims: new Map(), pods: new Map() }
  const repairs = new Set<Promise<void>>()
  api.create(STORAGE_CLASSES, {
    metadata: { name: CLASS },
    provisioner: target.driver.settings.name,
    allowVolumeExpansion: true,
  })
  try {
    const plan = planOf({ ...options, nodes })
    for (const { afterMs, action } of plan) {
      await clock.sleep(afterMs, signal)
      target.log.info('Chaos', { ...action })
      perform(action, target, expected, repairs)
    }
    await Promise.all(repairs)
    api.faults.clear()
    await target.driver.restart()
    const missing = await waitConverged(target, expected, options.calmMs, signal)
    const left = missing.length > 0 ? [] : await waitGone(target, expected, options.calmMs, signal)
    return { actions: plan.length, violations: [...monitor.violations, ...missing, ...left] }
  } finally {
    leave()
  }
}

/** The log has everything that was seen, so that what led to a violation can be read there. */
function see(sighting: Sighting, monitor: Monitor, log: Logger): void {
  const before = monitor.violations.length
  log.v(2)?.info('Seen', { ...sighting })
  monitor.see(sighting)
  for (const violation of monitor.violations.slice(before)) log.error(undefined, 'Violated', { violation })
}

function perform(action: Action, target: ChaosTarget, expected: Expected, repairs: Set<Promise<void>>): void {
  const { api } = target
  const later = (work: Promise<void>): void => {
    repairs.add(work)
    void work.finally(() => repairs.delete(work))
  }
  switch (action.do) {
    case 'createClaim':
      expected.claims.set(action.claim, action.size)
      return void api.create(PERSISTENT_VOLUME_CLAIMS, claimOf(action))
    case 'createPod':
      return createPod(action.pod, action, api, expected)
    case 'deletePod':
      return deletePod(action.pod, api, expected)
    case 'movePod':
      deletePod(action.pod, api, expected)
      return createPod(action.to, action, api, expected)
    case 'resizeClaim':
      return resizeClaim(action, api, expected)
    case 'deleteClaim':
      expected.claims.delete(action.claim)
      return api.delete(PERSISTENT_VOLUME_CLAIMS, inDefault(action.claim))
    case 'crashDriver':
      return later(crashDriver(target, action.forMs))
    case 'breakApi':
      return breakApi(api, action.how)
    case 'restartController':
      return later(restartController(target.controllers, action.which))
    case 'killSidecar':
      return later(target.killSidecar(action.which))
    default:
      unreachable(action)
  }
}

const inDefault = (name: string) => ({ namespace: 'default', name })

function claimOf({ claim, size, shared }: Extract<Action, { do: 'createClaim' }>) {
  return {
    metadata: inDefault(claim),
    spec: {
      accessModes: [shared ? 'ReadWriteMany' : 'ReadWriteOnce'],
      storageClassName: CLASS,
      resources: { requests: { storage: `${size}Gi` } },
    },
    status: { phase: 'Pending' },
  }
}

function createPod(
  pod: string,
  { node, claim }: { readonly node: string; readonly claim: string },
  api: ApiServer,
  expected: Expected,
): void {
  expected.pods.set(pod, claim)
  api.create(PODS, {
    metadata: inDefault(pod),
    spec: {
      nodeName: node,
      containers: [{ name: 'main', image: 'none', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: claim } }],
    },
    status: { phase: 'Pending' },
  })
}

function deletePod(pod: string, api: ApiServer, expected: Expected): void {
  expected.pods.delete(pod)
  if (api.get(PODS, inDefault(pod)) !== undefined) api.delete(PODS, inDefault(pod))
}

/** A claim that is not bound yet may not grow: the API would refuse that to anybody. */
function resizeClaim(
  { claim, size }: Extract<Action, { do: 'resizeClaim' }>,
  api: ApiServer,
  { claims }: Expected,
): void {
  if (api.get(PERSISTENT_VOLUME_CLAIMS, inDefault(claim))?.status?.phase !== 'Bound') return
  claims.set(claim, size)
  const requests = { storage: `${size}Gi` }
  api.update(PERSISTENT_VOLUME_CLAIMS, inDefault(claim), (old) => ({
    ...old,
    spec: { ...old.spec, resources: { requests } },
  }))
}

async function crashDriver({ driver, clock }: ChaosTarget, forMs: number): Promise<void> {
  await driver.crash()
  await clock.sleep(forMs)
  await driver.restart()
}

/** The provisioner is spared: like its model it forgets a volume that it was just making. */
async function restartController(controllers: Controllers, which: number): Promise<void> {
  const names = ['persistent-volume', 'attach-detach', 'volume-manager']
  await controllers.restart(names[which % names.length] ?? '')
}

/** Everything that was asked for and not taken back has to be there in the end. Returns what is not. */
async function waitConverged(
  { api, clock }: ChaosTarget,
  { claims, pods }: Expected,
  calmMs: number,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const missing = (): string[] => {
    const unbound = [...claims].filter(([name, size]) => !hasSize(api, name, size))
    // A pod whose claim was deleted before it was mounted cannot start, and is not expected to.
    const waiting = [...pods].filter(([pod, claim]) => claims.has(claim) && !isRunning(api, pod))
    return [
      ...unbound.map(([name, size]) => `claim ${name} does not have ${size}Gi`),
      ...waiting.map(([pod]) => `pod ${pod} does not run`),
    ]
  }
  return await untilNone(missing, api, { clock, calmMs, signal })
}

function hasSize(api: ApiServer, name: string, size: number): boolean {
  const claim = api.get(PERSISTENT_VOLUME_CLAIMS, inDefault(name))
  const has = claim?.status?.capacity?.['storage']
  const waits = Object.keys(claim?.status?.allocatedResourceStatuses ?? {}).length > 0
  // Without a pod an expansion waits for its node, and that is right.
  const enough = has !== undefined && Quantity.parse(has).compare(Quantity.parse(`${size}Gi`)) >= 0
  return claim?.status?.phase === 'Bound' && (enough || (waits && !isUsed(api, name)))
}

function isUsed(api: ApiServer, claim: string): boolean {
  return api
    .list(PODS)
    .some(({ spec }) => spec?.volumes?.some((each) => each.persistentVolumeClaim?.claimName === claim))
}

function isRunning(api: ApiServer, pod: string): boolean {
  return api.get(PODS, inDefault(pod))?.status?.phase === 'Running'
}

/** When all pods and claims are deleted nothing may be left, neither in the API nor at the driver. */
async function waitGone(
  { api, driver, clock }: ChaosTarget,
  { claims, pods }: Expected,
  calmMs: number,
  signal: AbortSignal,
): Promise<readonly string[]> {
  for (const pod of pods.keys()) api.delete(PODS, inDefault(pod))
  for (const claim of claims.keys()) api.delete(PERSISTENT_VOLUME_CLAIMS, inDefault(claim))
  const kinds: readonly Resource<{ metadata?: { name?: string | undefined } | undefined }>[] = [
    PODS,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    VOLUME_ATTACHMENTS,
  ]
  const left = (): string[] => [
    ...kinds.flatMap((kind) => api.list(kind).map(({ metadata }) => `${kind.kind} ${metadata?.name} is left`)),
    ...driver.volumes.all.map(({ id }) => `volume ${id} is left at the driver`),
    ...api
      .list(NODES)
      .flatMap(({ metadata, status }) =>
        [...(status?.volumesAttached ?? []), ...(status?.volumesInUse ?? [])].length > 0
          ? [`the status of ${metadata?.name} still tells of volumes`]
          : [],
      ),
  ]
  return await untilNone(left, api, { clock, calmMs, signal })
}

interface Patience {
  readonly clock: Clock
  readonly calmMs: number
  readonly signal: AbortSignal
}

/** Resolves as soon as nothing is wrong, or with what still is when the time is over. Looks after every change. */
async function untilNone(
  wrong: () => readonly string[],
  api: ApiServer,
  { clock, calmMs, signal }: Patience,
): Promise<readonly string[]> {
  const done = Promise.withResolvers<void>()
  const look = (): void => {
    if (wrong().length === 0) done.resolve()
  }
  const kinds: readonly Resource<object>[] = [
    PODS,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    VOLUME_ATTACHMENTS,
    NODES,
  ]
  const undo = kinds.map((kind) => api.onChange(kind, look))
  look()
  using limit = deadline(clock, calmMs, 'coming right')
  try {
    await abortable(done.promise, limit.signal)
  } catch {
    signal.throwIfAborted()
  } finally {
    for (const each of undo) each()
  }
  return wrong()
}
