import { type Lease, rfc3339Micro, wholeNumberOf } from '@csi-sidecars/kube-types'
import type { LeaseRecord } from './decide-lease.ts'

/** The holder of a lease and the values that it writes. */
export interface LeaseIdentity {
  readonly namespace: string
  readonly name: string
  readonly holder: string
  readonly durationMs: number
  /** Written on every update; labels of others are kept. */
  readonly labels: Readonly<Record<string, string>>
}

export function recordOf(lease: Lease): LeaseRecord {
  const seconds = wholeNumberOf(lease.spec?.leaseDurationSeconds) ?? 0
  return { holder: lease.spec?.holderIdentity ?? '', durationMs: seconds * 1000 }
}

/** Reports whether the lease is unchanged: a write restarts the count of its age. */
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
  const base: Lease = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: identity.name, namespace: identity.namespace },
  }
  return heldLease(base, identity, now)
}

/** The lease with us as holder. Our own lease keeps its acquire time and its count of transitions. */
export function heldLease(lease: Lease, identity: LeaseIdentity, now: number): Lease {
  // A Lease that was written by hand may say `spec: null`.
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

/** The lease after its release: free at once. */
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

function isNew(lease: Lease): boolean {
  return lease.metadata?.resourceVersion === undefined
}

function withLabels(metadata: Lease['metadata'], labels: Readonly<Record<string, string>>): Lease['metadata'] {
  return Object.keys(labels).length === 0 ? metadata : { ...metadata, labels: { ...metadata?.labels, ...labels } }
}
