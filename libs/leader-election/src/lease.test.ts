import type { Lease } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { heldLease, type LeaseIdentity, newLease, recordOf, releasedLease, sameRecord } from './lease.ts'

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
  it('starts without a transition, with whole seconds and six fraction digits', () => {
    expect(newLease({ ...identity, labels: { app: 'x' } }, NOW)).toEqual({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'lease', namespace: 'ns', labels: { app: 'x' } },
      spec: { holderIdentity: 'me', leaseDurationSeconds: 15, acquireTime: TIME, renewTime: TIME, leaseTransitions: 0 },
    })
  })
})

describe('heldLease', () => {
  const before = { acquireTime: '2026-01-01T00:00:00.000000Z', renewTime: '2026-01-01T00:00:00.000000Z' }

  it('keeps the acquire time and the transitions of the same holder', () => {
    const { spec } = heldLease(stored({ ...before, holderIdentity: 'me', leaseTransitions: 3 }), identity, NOW)
    expect(spec).toMatchObject({ acquireTime: before.acquireTime, renewTime: TIME, leaseTransitions: 3 })
  })

  it.each(['other', ''])('counts a transition when it was held by "%s"', (holderIdentity) => {
    const { spec } = heldLease(stored({ ...before, holderIdentity, leaseTransitions: 3 }), identity, NOW)
    expect(spec).toMatchObject({ holderIdentity: 'me', acquireTime: TIME, renewTime: TIME, leaseTransitions: 4 })
  })

  it.each(['5', -1, 1.5, null, 2 ** 40])('treats %j as a missing number', (odd) => {
    const spec = { holderIdentity: 'other', leaseDurationSeconds: odd, leaseTransitions: odd }
    const lease: Lease = { ...stored(undefined), ...JSON.parse(JSON.stringify({ spec })) }
    expect(recordOf(lease)).toEqual({ holder: 'other', durationMs: 0 })
    expect(heldLease(lease, identity, NOW).spec).toMatchObject({ leaseTransitions: 1 })
  })

  it('takes over a lease whose spec is null like an empty lease', () => {
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

  it('adds its labels, keeps foreign ones and the version that guards the write', () => {
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

  it('keeps fields of the spec that it does not know', () => {
    const { spec } = heldLease(stored({ holderIdentity: 'me', strategy: 'OldestEmulationVersion' }), identity, NOW)
    expect(spec).toMatchObject({ strategy: 'OldestEmulationVersion' })
  })
})

describe('releasedLease', () => {
  it('names no holder, lasts a second and keeps the count of transitions', () => {
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

  it('does not look at the metadata', () => {
    expect(sameRecord(lease, { ...lease, metadata: { name: 'lease', resourceVersion: '8' } })).toBe(true)
  })

  it.each([
    ['holder', { holderIdentity: 'b' }],
    ['renew time', { renewTime: '2' }],
    ['acquire time', { acquireTime: '2' }],
    ['transitions', { leaseTransitions: 2 }],
    ['duration', { leaseDurationSeconds: 1 }],
  ])('notices another %s', (_, change) => {
    expect(sameRecord(lease, { ...lease, spec: { ...lease.spec, ...change } })).toBe(false)
  })
})
