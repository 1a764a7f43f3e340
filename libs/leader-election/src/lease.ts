import { type Lease, rfc3339Micro, wholeNumberOf } from '@csi-sidecars/kube-types'

/** The name of a Lease, its holder, and the values that the holder writes. */
export interface LeaseIdentity {
  readonly namespace: string
  readonly name: string
  readonly holder: string
  readonly durationMs: number
  /** The labels that every write sets. Other labels are kept. */
  readonly labels: Readonly<Record<string, string>>
}

/** The fields of a Lease that decide whether a process may take it. */
export interface LeaseRecord {
  /** The holder. Empty if the Lease was released. */
  readonly holder: string
  readonly durationMs: number
}

/** The facts that a candidate knows when it decides about the Lease. */
export interface LeaseView {
  readonly me: string
  /** The monotonic time of this process. */
  readonly now: number
  /**
   * The last known state of the Lease, and when this process first saw this state. Undefined if there is no Lease.
   * Only the clock of this process counts, because the times in the Lease are from another machine.
   */
  readonly observed: { readonly record: LeaseRecord; readonly since: number } | undefined
}

export type LeaseDecision =
  | { readonly kind: 'create' }
  /** The process writes itself as the holder. With `ours`, the acquire time and the transitions stay. */
  | { readonly kind: 'take'; readonly why: 'ours' | 'released' | 'expired' }
  | { readonly kind: 'wait'; readonly holder: string; readonly expiresInMs: number }

export function recordOf(lease: Lease): LeaseRecord {
  const seconds = wholeNumberOf(lease.spec?.leaseDurationSeconds) ?? 0
  return { holder: lease.spec?.holderIdentity ?? '', durationMs: seconds * 1000 }
}

/** Reports whether the Lease is unchanged. Any change starts its lease duration again. */
export function sameRecord(a: Lease, b: Lease): boolean {
  return (
    a.spec?.holderIdentity === b.spec?.holderIdentity &&
    a.spec?.renewTime === b.spec?.renewTime &&
    a.spec?.acquireTime === b.spec?.acquireTime &&
    a.spec?.leaseTransitions === b.spec?.leaseTransitions &&
    a.spec?.leaseDurationSeconds === b.spec?.leaseDurationSeconds
  )
}

export function newLease(identity: LeaseIdentity, now: number): Lease {
  return heldLease({ metadata: { name: identity.name, namespace: identity.namespace } }, identity, now)
}

/** Returns the Lease with this process as the holder. If the holder was the same, acquire time and transitions stay. */
export function heldLease(lease: Lease, identity: LeaseIdentity, now: number): Lease {
  // A Lease that was written by hand may contain `spec: null`.
  const spec = lease.spec ?? {}
  const isOurs = spec.holderIdentity === identity.holder
  const transitions = wholeNumberOf(spec.leaseTransitions) ?? 0
  return {
    ...lease,
    metadata: withLabels(lease.metadata, identity.labels),
    spec: {
      ...spec,
      holderIdentity: identity.holder,
      leaseDurationSeconds: Math.floor(identity.durationMs / 1000),
      acquireTime: (isOurs ? spec.acquireTime : undefined) ?? rfc3339Micro(now),
      renewTime: rfc3339Micro(now),
      leaseTransitions: isNew(lease) ? 0 : transitions + (isOurs ? 0 : 1),
    },
  }
}

function isNew(lease: Lease): boolean {
  return lease.metadata?.resourceVersion === undefined
}

/** Returns the Lease without a holder, so that another process can take it at once. */
export function releasedLease(lease: Lease, identity: LeaseIdentity, now: number): Lease {
  return {
    ...lease,
    metadata: withLabels(lease.metadata, identity.labels),
    spec: {
      ...lease.spec,
      holderIdentity: '',
      leaseDurationSeconds: 1,
      acquireTime: rfc3339Micro(now),
      renewTime: rfc3339Micro(now),
    },
  }
}

function withLabels(metadata: Lease['metadata'], labels: Readonly<Record<string, string>>): Lease['metadata'] {
  return Object.keys(labels).length === 0 ? metadata : { ...metadata, labels: { ...metadata?.labels, ...labels } }
}

/** Returns the next step of a process that wants to hold the Lease. Pure. */
export function decideLease({ me, now, observed }: LeaseView): LeaseDecision {
  if (observed === undefined) return { kind: 'create' }
  const { record, since } = observed
  if (record.holder === me) return { kind: 'take', why: 'ours' }
  if (record.holder === '') return { kind: 'take', why: 'released' }
  const expiresInMs = since + record.durationMs - now
  return expiresInMs > 0 ? { kind: 'wait', holder: record.holder, expiresInMs } : { kind: 'take', why: 'expired' }
}
