import { describe, expect, it } from '@jest/globals'
import type { Claim } from '../caches/claim.ts'
import { claim, pod } from '../testing/objects.ts'
import { decideEphemeral, isOrphan } from './decide.ts'

const ephemeralVolume = (name: string) => ({
  kind: 'claim' as const,
  name,
  claim: `app-${name}`,
  readOnly: false,
  ephemeral: true,
})
const app = pod({
  volumes: [ephemeralVolume('a'), ephemeralVolume('b'), { ...ephemeralVolume('c'), claim: 'shared', ephemeral: false }],
})

const steps = (change: Parameters<typeof pod>[0], ...claims: readonly Claim[]) =>
  decideEphemeral({ pod: { ...app, ...change }, claim: (name) => claims.find((each) => each.name === name) })

const create = (volume: string) => ({ kind: 'create', volume, claim: `app-${volume}` })

describe('ephemeral volumes', () => {
  it('a pod with ephemeral volumes gets a claim for each ephemeral volume', () => {
    expect(steps({})).toEqual([create('a'), create('b')])
  })

  it('a pod with ephemeral volumes gets only the missing claims', () => {
    expect(steps({}, claim({ name: 'app-a', ownerUid: app.uid }))).toEqual([create('b')])
  })

  it('a pod with ephemeral volumes does not use the claim of another owner', () => {
    const message = 'PVC default/app-a was not created for pod default/app (pod is not owner)'
    expect(steps({}, claim({ name: 'app-a' }))).toEqual([{ kind: 'fail', volume: 'a', message }])
  })

  it('a pod with ephemeral volumes gets no claims while it is being deleted', () => {
    expect(steps({ deleting: true })).toEqual([])
  })
})

describe('isOrphan', () => {
  const owned = claim({ ownerUid: app.uid, ownerPod: app.name })
  it.each([
    ['returns false while the pod of the claim exists', owned, app, false],
    ['returns true if the pod of the claim is gone', owned, undefined, true],
    ['returns true if the pod was recreated', owned, pod({ uid: 'another' }), true],
    ['returns false for a claim in deletion', { ...owned, deleting: true }, undefined, false],
    ['returns false for a claim without an owner', claim(), undefined, false],
  ])('the check for an orphaned ephemeral claim %s', (_, one, owner, orphan) => {
    expect(isOrphan(one, owner?.uid)).toBe(orphan)
  })
})
