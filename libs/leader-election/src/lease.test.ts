import type { Lease } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import {
  decideLease,
  heldLease,
  type LeaseDecision,
  type LeaseIdentity,
  type LeaseView,
  newLease,
  recordOf,
  releasedLease,
  sameRecord,
} from './lease.ts'

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const TIME = '2026-01-02T03:04:05.678000Z'
const identity: LeaseIdentity = { namespace: 'ns', name: 'lease', holder: 'me', durationMs: 15_500, labels: {} }

const stored = (spec: Lease['spec'], labels?: Record<string, string>): Lease => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'lease', namespace: 'ns', resourceVersion: '7', ...(labels && { labels }) },
  spec,
})

describe('newLease', () => {
  it('a new lease has no transitions, its duration in whole seconds, and times with six fraction digits', () => {
    expect(newLease({ ...identity, labels: { app: 'x' } }, NOW)).toEqual({
      metadata: { name: 'lease', namespace: 'ns', labels: { app: 'x' } },
      spec: { holderIdentity: 'me', leaseDurationSeconds: 15, acquireTime: TIME, renewTime: TIME, leaseTransitions: 0 },
    })
  })
})

describe('heldLease', () => {
  const before = { acquireTime: '2026-01-01T00:00:00.000000Z', renewTime: '2026-01-01T00:00:00.000000Z' }

  it('`heldLease` keeps the acquire time and the transitions if the holder stays the same', () => {
    const { spec } = heldLease(stored({ ...before, holderIdentity: 'me', leaseTransitions: 3 }), identity, NOW)
    expect(spec).toMatchObject({ acquireTime: before.acquireTime, renewTime: TIME, leaseTransitions: 3 })
  })

  it.each(['other', ''])('a takeover of a lease from the holder "%s" counts as a transition', (holderIdentity) => {
    const { spec } = heldLease(stored({ ...before, holderIdentity, leaseTransitions: 3 }), identity, NOW)
    expect(spec).toMatchObject({ holderIdentity: 'me', acquireTime: TIME, renewTime: TIME, leaseTransitions: 4 })
  })

  it.each(['5', -1, 1.5, null, 2 ** 40])('the invalid number %j in a lease counts as absent', (odd) => {
    const spec = { holderIdentity: 'other', leaseDurationSeconds: odd, leaseTransitions: odd }
    const lease: Lease = { ...stored(undefined), ...JSON.parse(JSON.stringify({ spec })) }
    expect(recordOf(lease)).toEqual({ holder: 'other', durationMs: 0 })
    expect(heldLease(lease, identity, NOW).spec).toMatchObject({ leaseTransitions: 1 })
  })

  it('a lease whose spec is null is taken over like an empty lease', () => {
    const lease: Lease = { ...stored(undefined), ...JSON.parse('{"spec":null}') }
    expect(recordOf(lease)).toEqual({ holder: '', durationMs: 0 })
    expect(heldLease(lease, identity, NOW).spec).toEqual({
      holderIdentity: 'me',
      leaseDurationSeconds: 15,
      acquireTime: TIME,
      renewTime: TIME,
      leaseTransitions: 1,
    })
  })

  it('`heldLease` adds our labels, and keeps other labels and the resource version', () => {
    const lease = heldLease(
      stored({ holderIdentity: 'me' }, { foreign: '1', app: 'old' }),
      { ...identity, labels: { app: 'x' } },
      NOW,
    )
    expect(lease.metadata).toEqual({
      name: 'lease',
      namespace: 'ns',
      resourceVersion: '7',
      labels: { foreign: '1', app: 'x' },
    })
  })

  it('`heldLease` keeps unknown fields of the spec', () => {
    const { spec } = heldLease(stored({ holderIdentity: 'me', strategy: 'OldestEmulationVersion' }), identity, NOW)
    expect(spec).toMatchObject({ strategy: 'OldestEmulationVersion' })
  })
})

describe('releasedLease', () => {
  it('a released lease has no holder, expires after a second and keeps its transitions', () => {
    const lease = releasedLease(stored({ holderIdentity: 'me', leaseTransitions: 3 }), identity, NOW)
    expect(lease.spec).toEqual({
      holderIdentity: '',
      leaseDurationSeconds: 1,
      acquireTime: TIME,
      renewTime: TIME,
      leaseTransitions: 3,
    })
  })
})

describe('sameRecord', () => {
  const lease = stored({
    holderIdentity: 'a',
    renewTime: '1',
    acquireTime: '1',
    leaseTransitions: 1,
    leaseDurationSeconds: 15,
  })

  it('`sameRecord` ignores differences in the metadata of two leases', () => {
    expect(sameRecord(lease, { ...lease, metadata: { name: 'lease', resourceVersion: '8' } })).toBe(true)
  })

  it('`sameRecord` compares leases without a spec', () => {
    const bare = stored(undefined)
    expect(sameRecord(bare, stored(undefined))).toBe(true)
    expect([sameRecord(bare, lease), sameRecord(lease, bare)]).toEqual([false, false])
  })

  it.each([
    ['holder', { holderIdentity: 'b' }],
    ['renew time', { renewTime: '2' }],
    ['acquire time', { acquireTime: '2' }],
    ['transitions', { leaseTransitions: 2 }],
    ['duration', { leaseDurationSeconds: 1 }],
  ])('`sameRecord` notices a different value of the %s', (_, change) => {
    expect(sameRecord(lease, { ...lease, spec: { ...lease.spec, ...change } })).toBe(false)
  })
})

const heldBy = (holder: string, since: number): LeaseView['observed'] => ({
  record: { holder, durationMs: 15_000 },
  since,
})

describe('decideLease', () => {
  const rows: { name: string; observed: LeaseView['observed']; now?: number; decision: LeaseDecision }[] = [
    { name: 'creates a missing lease', observed: undefined, decision: { kind: 'create' } },
    { name: 'continues with its own lease', observed: heldBy('me', 0), decision: { kind: 'take', why: 'ours' } },
    {
      name: 'continues with its own expired lease',
      observed: heldBy('me', 0),
      now: 60_000,
      decision: { kind: 'take', why: 'ours' },
    },
    {
      name: 'takes a released lease at once',
      observed: heldBy('', 0),
      now: 1,
      decision: { kind: 'take', why: 'released' },
    },
    {
      name: 'waits for the lease of another process',
      observed: heldBy('other', 1_000),
      now: 2_000,
      decision: { kind: 'wait', holder: 'other', expiresInMs: 14_000 },
    },
    {
      name: 'waits until the end of the lease duration',
      observed: heldBy('other', 0),
      now: 14_999,
      decision: { kind: 'wait', holder: 'other', expiresInMs: 1 },
    },
    {
      name: 'takes a lease that has not changed for its duration',
      observed: heldBy('other', 0),
      now: 15_000,
      decision: { kind: 'take', why: 'expired' },
    },
  ]
  it.each(rows)('`decideLease` $name', ({ observed, now = 0, decision }) => {
    expect(decideLease({ me: 'me', now, observed })).toEqual(decision)
  })
})
