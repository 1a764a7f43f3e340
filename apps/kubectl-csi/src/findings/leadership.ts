import type { Lease } from '@csi-sidecars/kube-types'
import { type Facts, type Ref, refOf, timeOf } from '../facts/facts.ts'
import { type Evidence, likely, type Sidecar } from './finding.ts'

/** Who leads a sidecar of a driver, as its Lease tells. */
export type Leadership =
  | { readonly is: 'held'; readonly lease: Lease; readonly holder: string }
  /** Nobody has renewed it for twice its duration. */
  | { readonly is: 'expired'; readonly lease: Lease; readonly since: number }
  /** The last leader has given it back. */
  | { readonly is: 'released'; readonly lease: Lease; readonly since: number | undefined }
  /** No such Lease: no leader election, a Lease under another name, or no sidecar at all. */
  | { readonly is: 'none' }
  | { readonly is: 'unseen' }

const PREFIX: Readonly<Record<Sidecar, string>> = {
  'external-attacher': 'external-attacher-leader-',
  'external-resizer': 'external-resizer-',
}

/** The Lease's name, which both sidecars share with their Go originals. */
export function leaseName(sidecar: Sidecar, driver: string): string {
  const name = `${PREFIX[sidecar]}${driver}`.replace(/[^A-Za-z0-9-]/gu, '-')
  return name.endsWith('-') ? `${name}X` : name
}

/** What the Lease says. Of several, in several namespaces, the one that was renewed last. */
export function leadershipOf(
  { leases, now }: Pick<Facts, 'leases' | 'now'>,
  sidecar: Sidecar,
  driver: string,
): Leadership {
  if (leases === undefined) return { is: 'unseen' }
  const name = leaseName(sidecar, driver)
  const own = leases.filter(({ metadata }) => metadata?.name === name)
  const [lease] = own.toSorted((a, b) => (renewedAt(b) ?? 0) - (renewedAt(a) ?? 0))
  if (lease === undefined) return { is: 'none' }
  const { holderIdentity = '', leaseDurationSeconds = 0 } = lease.spec ?? {}
  const renewed = renewedAt(lease)
  if (holderIdentity === '') return { is: 'released', lease, since: renewed }
  const expiry = (renewed ?? 0) + 2 * 1000 * leaseDurationSeconds
  if (now > expiry) return { is: 'expired', lease, since: renewed ?? now }
  return { is: 'held', lease, holder: holderIdentity }
}

export function renewedAt({ spec }: Lease): number | undefined {
  return timeOf(spec?.renewTime)
}

/** Nobody leads, for all that the Lease says. */
export type NoLeader = Extract<Leadership, { is: 'expired' | 'released' }>

export function hasNoLeader(leadership: Leadership): leadership is NoLeader {
  return leadership.is === 'expired' || leadership.is === 'released'
}

/** How sure it is that nobody leads. */
export function doubtOf({ is }: NoLeader): ReturnType<typeof likely> {
  return likely(
    is === 'expired'
      ? "the age of the Lease is by this machine's clock, which may differ from the cluster's"
      : 'a leader that has just been stopped leaves the same Lease',
  )
}

export function leaseEvidence(leadership: Leadership): readonly Evidence[] {
  if (leadership.is === 'none' || leadership.is === 'unseen') return []
  const { lease } = leadership
  const object: Ref = refOf('Lease', lease)
  const holder = lease.spec?.holderIdentity ?? ''
  return [
    { object, field: '.spec.holderIdentity', value: holder === '' ? '(empty)' : holder },
    { object, field: '.spec.renewTime', value: lease.spec?.renewTime ?? '(empty)' },
  ]
}
