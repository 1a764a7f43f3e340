import { describe, expect, it } from '@jest/globals'
import type { Claim } from '../caches/claim.ts'
import { claim, pod } from '../testing/objects.ts'
import { decideEphemeral, isOrphan } from './decide.ts'

const own = (name: string) => ({
  is: 'claim' as const,
  name,
  claim: `app-${name}`,
  readOnly: false,
  ephemeral: true,
})
const app = pod({ volumes: [own('a'), own('b'), { ...own('c'), claim: 'shared', ephemeral: false }] })

const steps = (change: Parameters<typeof pod>[0], ...claims: readonly Claim[]) =>
  decideEphemeral({ pod: { ...app, ...change }, claim: (name) => claims.find((each) => each.name === name) })

const create = (volume: string) => ({ do: 'create', volume, claim: `app-${volume}` })

describe('a pod with volumes of its own', () => {
  it('gets a claim for each', () => {
    expect(steps({})).toEqual([create('a'), create('b')])
  })

  it('gets the claims that it does not have', () => {
    expect(steps({}, claim({ name: 'app-a', ownerUid: app.uid }))).toEqual([create('b')])
  })

  it('does not get the claim of another owner', () => {
    const message = 'PVC default/app-a was not created for pod default/app (pod is not owner)'
    expect(steps({}, claim({ name: 'app-a' }))).toEqual([{ do: 'fail', volume: 'a', message }])
  })

  it('gets none while it is being deleted', () => {
    expect(steps({ deleting: true })).toEqual([])
  })
})

describe('a claim of a pod', () => {
  const owned = claim({ ownerUid: app.uid, ownerPod: app.name })
  it.each([
    ['that is there stays', owned, app, false],
    ['that is gone goes', owned, undefined, true],
    ['that was recreated under its name is deleted', owned, pod({ uid: 'another' }), true],
    ['goes once', { ...owned, deleting: true }, undefined, false],
    ['without an owner stays', claim(), undefined, false],
  ])('%s', (_, one, owner, orphan) => {
    expect(isOrphan(one, owner?.uid)).toBe(orphan)
  })
})
