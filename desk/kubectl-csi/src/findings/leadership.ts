import { type Lease, type Pod, wholeNumberOf } from '@csi-sidecars/kube-types'
import { type ClusterFacts, type KindRef, refOf, textOf, timeOf } from '../facts/facts.ts'
import { leaseKey, leaseName, type OriginalName } from '../facts/leases.ts'
import type { FailureCause } from './failure.ts'
import { type Evidence, likely } from './finding.ts'
import { ROWS } from './rows.ts'

/** Reasons to doubt a finding about pending work that has no error yet. */
export const ALIKE = 'a long queue, a driver that hangs and one that is away look the same from here'
export const NO_LEASES = 'Leases could not be read, so there may be no leader'

/** The leadership of a driver's sidecar, as its Lease shows it. */
export type Leadership =
  | { readonly kind: 'held'; readonly lease: Lease }
  /** Leases with the same name are held in several namespaces. */
  | { readonly kind: 'held twice'; readonly lease: Lease; readonly others: readonly Lease[] }
  /** The Lease has not been renewed for twice its duration. */
  | { readonly kind: 'expired'; readonly lease: Lease }
  /** The last leader has released the Lease. */
  | { readonly kind: 'released'; readonly lease: Lease }
  /** No such Lease: no leader election, a Lease under another name, or no sidecar at all. */
  | { readonly kind: 'none' }
  | { readonly kind: 'unseen' }

/** The states of a Lease that has no leader. */
export type NoLeader = Extract<Leadership, { kind: 'expired' | 'released' }>

/** A container that is not ready, with its state. */
export interface NotReady {
  readonly pod: KindRef
  readonly name: string
  readonly state: string
}

/** Returns the leadership that the Lease shows. If several namespaces have the Lease, the last renewed one counts. */
export function leadershipOf(
  { leases, now }: Pick<ClusterFacts, 'leases' | 'now'>,
  sidecar: OriginalName,
  driver: string,
): Leadership {
  if (leases === undefined) return { kind: 'unseen' }
  const name = leaseName(sidecar, driver)
  const leasesOfName = leases.filter(({ metadata }) => metadata?.name === name)
  const [lease] = leasesOfName.toSorted((a, b) => renewedAt(b) - renewedAt(a))
  if (lease === undefined) return { kind: 'none' }
  if ((lease.spec?.holderIdentity ?? '') === '') return { kind: 'released', lease }
  if (isExpired(lease, now)) return { kind: 'expired', lease }
  const others = leasesOfName.filter((each) => each !== lease && each.spec?.holderIdentity && !isExpired(each, now))
  return others.length > 0 ? { kind: 'held twice', lease, others } : { kind: 'held', lease }
}

function isExpired(lease: Lease, now: number): boolean {
  return now > renewedAt(lease) + 2 * 1000 * (wholeNumberOf(lease.spec?.leaseDurationSeconds) ?? 0)
}

/** A missing pod no longer counts as leader after these milliseconds without a renewal of its Lease. */
const SILENT_MS = 30_000

/** Reports whether the holder of the Lease is a missing pod that has not renewed the Lease lately. */
export function holderGone(
  leadership: Leadership,
  { holdersGone, now }: Pick<ClusterFacts, 'holdersGone' | 'now'>,
): boolean {
  if (leadership.kind === 'none' || leadership.kind === 'unseen' || leadership.kind === 'released') return false
  const { lease } = leadership
  const duration = 1000 * (wholeNumberOf(lease.spec?.leaseDurationSeconds) ?? 0)
  return holdersGone.has(leaseKey(lease)) && now - renewedAt(lease) > Math.min(SILENT_MS, (2 / 3) * duration)
}

function renewedAt({ spec }: Lease): number {
  return timeOf(spec?.renewTime) ?? 0
}

export function hasNoLeader(leadership: Leadership): leadership is NoLeader {
  return leadership.kind === 'expired' || leadership.kind === 'released'
}

/** Returns why it is likely, but not certain, that there is no leader. */
export function doubtOf({ kind }: NoLeader): ReturnType<typeof likely> {
  return likely(
    kind === 'expired'
      ? "the age of the Lease is by this machine's clock, which may differ from the cluster's"
      : 'a leader that has just been stopped leaves the same Lease',
  )
}

export function leaseEvidence(leadership: Leadership, facts: Pick<ClusterFacts, 'sidecarPods'>): readonly Evidence[] {
  if (leadership.kind === 'none' || leadership.kind === 'unseen') return []
  const { lease } = leadership
  const object: KindRef = refOf('Lease', lease)
  const holder = lease.spec?.holderIdentity ?? ''
  const notReady = notReadyContainers(leadership, facts)
  return [
    { object, field: '.spec.holderIdentity', value: holder === '' ? '(empty)' : holder },
    { object, field: '.spec.renewTime', value: lease.spec?.renewTime ?? '(empty)' },
    ...notReady.map(({ pod, name, state }) => ({
      object: pod,
      field: `.status.containerStatuses[${name}]`,
      value: `not ready, ${state}`,
    })),
  ]
}

/** Returns the containers in the pods of the sidecar that are not ready, including the sidecar and the driver. */
export function notReadyContainers(
  leadership: Leadership,
  { sidecarPods }: Pick<ClusterFacts, 'sidecarPods'>,
): readonly NotReady[] {
  if (leadership.kind === 'none' || leadership.kind === 'unseen') return []
  return (sidecarPods.get(leaseKey(leadership.lease)) ?? []).flatMap((pod) =>
    (pod.status?.containerStatuses ?? [])
      .filter(({ ready }) => !ready)
      .map(({ name, state }) => ({ pod: refOf('Pod', pod), name, state: stateText(state) })),
  )
}

type State = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number]['state']

function stateText(state: State): string {
  if (state?.waiting !== undefined) return `waiting: ${state.waiting.reason ?? 'for an unknown reason'}`
  if (state?.terminated !== undefined) return `terminated with exit code ${state.terminated.exitCode}`
  return 'running'
}

/** Returns a list of texts such as `container csi-driver of Pod storage/pod-a (running)`. */
export function containersText(containers: readonly NotReady[]): string {
  return containers.map(({ pod, name, state }) => `container ${name} of ${textOf(pod)} (${state})`).join(', ')
}

/** Returns the text after `waits for` if there is no leader. `then` is the text of the next wait. */
export function noLeaderText(
  leadership: NoLeader,
  facts: Pick<ClusterFacts, 'sidecarPods' | 'holdersGone' | 'now'>,
  then?: string,
): string {
  const notReady = notReadyContainers(leadership, facts)
  const { holderIdentity } = leadership.lease.spec ?? {}
  const gone = holderGone(leadership, facts) ? `: the last one, ${holderIdentity}, has no pod` : ''
  const why = notReady.length === 0 ? gone : `, with ${containersText(notReady)} not ready`
  return `a leader, and no replica leads${why}${then === undefined ? '' : `; after that for ${then}`}`
}

/** Returns a problem of the leader. It counts as the cause of a wait if no better cause is known. */
export function leaderCause(
  leadership: Leadership,
  facts: ClusterFacts,
): (FailureCause & ReturnType<typeof likely>) | undefined {
  if (leadership.kind === 'held twice') {
    const leases = [leadership.lease, ...leadership.others].map(
      (lease) => `${leaseKey(lease)} by ${lease.spec?.holderIdentity}`,
    )
    return {
      reason: 'TwoLeaders',
      waitsFor: `one leader instead of two: Leases ${leases.join(' and ')} are held at once`,
      advice: ROWS.twoLeaders,
      ...likely('two installations of the sidecar for one driver disturb each other'),
    }
  }
  if (leadership.kind === 'held' && holderGone(leadership, facts)) {
    const { lease } = leadership
    return {
      reason: 'HolderGone',
      waitsFor: `a leader: Lease ${leaseKey(lease)} is held by ${lease.spec?.holderIdentity}, whose pod no longer exists, until it expires`,
      advice: ROWS.noLeader,
      ...likely('a sidecar outside of a pod looks the same'),
    }
  }
  return notReadyCause(leadership, facts)
}

/** Returns a cause if containers in the leader's pod are not ready, because one of them is usually the driver. */
function notReadyCause(
  leadership: Leadership,
  facts: Pick<ClusterFacts, 'sidecarPods'>,
): (FailureCause & ReturnType<typeof likely>) | undefined {
  const notReady = notReadyContainers(leadership, facts)
  if (notReady.length === 0) return undefined
  const doubt = 'it is the pod of the leader, and whether that container is the driver cannot be seen'
  const waitsFor = `${containersText(notReady)} to be ready`
  return { reason: 'ContainerNotReady', waitsFor, advice: ROWS.containerNotReady, ...likely(doubt) }
}
