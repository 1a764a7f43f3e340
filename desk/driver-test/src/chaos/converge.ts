import { type Clock, deadline } from '@csi-sidecars/base'
import { until } from '@csi-sidecars/disturb'
import type { ApiServer } from '@csi-sidecars/emulator'
import {
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  Quantity,
  type Resource,
  VOLUME_ATTACHMENTS,
  VOLUME_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOTS,
} from '@csi-sidecars/kube-types'

/** The objects and states that the actions have requested, and that must exist at the end. */
export interface Expected {
  readonly claims: Map<string, number>
  /** The last requested VolumeAttributesClass of each modified claim. */
  readonly classes: Map<string, string>
  /** The claim of each pod. Undefined for a pod without a claim. */
  readonly pods: Map<string, string | undefined>
  /** The source claim of each snapshot. */
  readonly snapshots: Map<string, string>
}

/** A condition that does not hold yet, and the claim that it is about. */
export interface Missing {
  readonly text: string
  readonly claim: string | undefined
}

interface Target {
  readonly api: ApiServer
  readonly driver: { left(signal: AbortSignal): Promise<readonly string[]> }
  readonly clock: Clock
}

export const inDefault = (name: string) => ({ namespace: 'default', name })

/** The kinds of objects that must not remain when everything was deleted. */
const KINDS: readonly Resource<{ metadata?: { name?: string | undefined } | undefined }>[] = [
  PODS,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  VOLUME_ATTACHMENTS,
  VOLUME_SNAPSHOTS,
  VOLUME_SNAPSHOT_CONTENTS,
]

/** Waits until all requested objects exist. Returns the missing objects. */
export async function waitConverged(
  target: Omit<Target, 'driver'>,
  { claims, pods, classes, snapshots }: Expected,
  limits: Limits,
): Promise<readonly Missing[]> {
  const { api } = target
  const missing = (): Missing[] => {
    const unbound = [...claims].filter(([name, size]) => !hasSize(api, name, size))
    const unmodified = [...classes].filter(([name, className]) => !hasClass(api, name, className))
    // A pod whose claim was deleted before the mount cannot start, so the pod is not expected to run.
    const waiting = [...pods].filter(
      ([pod, claim]) =>
        (claim === undefined || claims.has(claim)) && api.get(PODS, inDefault(pod))?.status?.phase !== 'Running',
    )
    // A snapshot of a deleted claim may fail for good, because its volume may be gone.
    const unready = [...snapshots].filter(
      ([name, claim]) => claims.has(claim) && api.get(VOLUME_SNAPSHOTS, inDefault(name))?.status?.readyToUse !== true,
    )
    return [
      ...unbound.map(([claim, size]) => ({ claim, text: `claim ${claim} does not have ${size}Gi` })),
      ...unmodified.map(([claim, name]) => ({ claim, text: `claim ${claim} does not have class ${name}` })),
      ...waiting.map(([pod, claim]) => ({ claim, text: `pod ${pod} does not run` })),
      ...unready.map(([name, claim]) => ({ claim, text: `snapshot ${name} of claim ${claim} is not ready` })),
    ]
  }
  return await untilNone(missing, target, limits)
}

function hasSize(api: ApiServer, name: string, size: number): boolean {
  const claim = api.get(PERSISTENT_VOLUME_CLAIMS, inDefault(name))
  const has = claim?.status?.capacity?.['storage']
  const waits = Object.keys(claim?.status?.allocatedResourceStatuses ?? {}).length > 0
  // If no pod uses the volume, an expansion may wait for a node.
  const enough = has !== undefined && Quantity.parse(has).compare(Quantity.parse(`${size}Gi`)) >= 0
  return claim?.status?.phase === 'Bound' && (enough || (waits && !isUsed(api, name)))
}

function hasClass(api: ApiServer, name: string, className: string): boolean {
  const status = api.get(PERSISTENT_VOLUME_CLAIMS, inDefault(name))?.status
  return status?.currentVolumeAttributesClassName === className && status.modifyVolumeStatus == null
}

function isUsed(api: ApiServer, claim: string): boolean {
  return api
    .list(PODS)
    .some(({ spec }) => spec?.volumes?.some((each) => each.persistentVolumeClaim?.claimName === claim))
}

/** Deletes all pods, snapshots and claims. Returns the objects that then remain in the API or in the driver. */
export async function waitGone(target: Target, expected: Expected, limits: Limits): Promise<readonly string[]> {
  const { api, driver } = target
  const { claims, pods, snapshots } = expected
  for (const pod of pods.keys()) api.delete(PODS, inDefault(pod))
  for (const snapshot of snapshots.keys()) api.delete(VOLUME_SNAPSHOTS, inDefault(snapshot))
  for (const claim of claims.keys()) api.delete(PERSISTENT_VOLUME_CLAIMS, inDefault(claim))
  const left = (): string[] => [
    ...KINDS.flatMap((kind) => api.list(kind).map(({ metadata }) => `${kind.kind} ${metadata?.name} is left`)),
    ...api
      .list(NODES)
      .flatMap(({ metadata, status }) =>
        [...(status?.volumesAttached ?? []), ...(status?.volumesInUse ?? [])].length > 0
          ? [`the status of ${metadata?.name} still lists volumes`]
          : [],
      ),
  ]
  const inApi = await untilNone(left, target, limits)
  return [...inApi, ...(await driver.left(limits.signal))]
}

interface Limits {
  readonly convergeMs: number
  readonly signal: AbortSignal
}

/** Calls `wrong` after every change until `wrong` returns an empty list or time is over. Returns the last list. */
async function untilNone<T>(
  wrong: () => readonly T[],
  { api, clock }: Omit<Target, 'driver'>,
  { convergeMs, signal }: Limits,
): Promise<readonly T[]> {
  const onChange = (check: () => void): (() => void) => {
    const undo = [...KINDS, NODES].map((kind: Resource<object>) => api.onChange(kind, check))
    return () => undo.forEach((each) => void each())
  }
  using limit = deadline(clock, convergeMs, { operation: 'coming right' })
  try {
    await until(() => wrong().length === 0, onChange, limit.signal)
  } catch {
    signal.throwIfAborted()
  }
  return wrong()
}
