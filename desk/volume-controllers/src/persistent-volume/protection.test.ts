import { describe, expect, it } from '@jest/globals'
import { claim, pod, volume } from '../testing/objects.ts'
import { unusedPatch } from './patches.ts'
import { decideClaimProtection, decideUnused, decideVolumeProtection } from './protection.ts'

describe('claims', () => {
  it('every claim that is not being deleted gets the protection finalizer', () => {
    expect(decideClaimProtection(claim({ finalizers: undefined }), [])).toEqual({
      kind: 'protect',
      patch: {
        kind: 'json',
        body: [
          { op: 'test', path: '/metadata/finalizers', value: null },
          { op: 'add', path: '/metadata/finalizers', value: ['kubernetes.io/pvc-protection'] },
        ],
      },
    })
  })

  it('the protection finalizer stays on a claim that is not deleted', () => {
    expect(decideClaimProtection(claim(), [])).toEqual({ kind: 'nothing' })
  })

  it('the protection finalizer of a deleted claim is removed if no scheduled pod uses the claim', () => {
    expect(decideClaimProtection(claim({ deleting: true }), []).kind).toBe('release')
  })

  it('the protection finalizer stays while a pod uses the claim, even if the pod has ended', () => {
    const deleted = claim({ deleting: true })
    expect(decideClaimProtection(deleted, [pod({ phase: 'Succeeded' })]).kind).toBe('nothing')
  })

  it('the protection finalizer of a deleted claim is removed if only an unscheduled pod uses the claim', () => {
    expect(decideClaimProtection(claim({ deleting: true }), [pod({ nodeName: '' })]).kind).toBe('release')
  })

  it('a claim that is being deleted does not get the protection finalizer', () => {
    expect(decideClaimProtection(claim({ deleting: true, finalizers: ['other/x'] }), []).kind).toBe('nothing')
  })
})

describe('unused condition', () => {
  const bound = claim({ phase: 'Bound' })
  const ownerPod = pod({ volumes: [{ kind: 'claim', name: 'data', claim: 'data', readOnly: false, ephemeral: true }] })
  it.each([
    ['becomes true if no pod uses the claim', bound, [], true],
    ['becomes false if a pod uses the claim', bound, [pod()], false],
    ['counts pods that are not scheduled', bound, [pod({ nodeName: '' })], false],
    ['ignores pods that have ended', bound, [pod({ phase: 'Succeeded' })], true],
    ['ignores the ephemeral volume of a pod that does not own the claim', bound, [ownerPod], true],
    [
      'counts the ephemeral volume of the pod that owns the claim',
      { ...bound, ownerUid: ownerPod.uid },
      [ownerPod],
      false,
    ],
    ['becomes false when the first pod appears', { ...bound, unused: true }, [pod()], false],
    ['becomes true when the last pod is gone', { ...bound, unused: false }, [], true],
    ['stays if its status is already correct', { ...bound, unused: true }, [], undefined],
    ['does not change before the claim is bound', claim(), [], undefined],
    ['does not change on a claim that is being deleted', { ...bound, deleting: true }, [], undefined],
  ])('the condition Unused of a claim %s', (_, one, pods, reported) => {
    expect(decideUnused(one, pods)).toBe(reported)
  })

  it.each([
    [true, 'True', 'NoPodsUsingPVC', 'No pods are currently referencing this PVC'],
    [false, 'False', 'PodUsingPVC', 'A pod is currently referencing this PVC'],
  ])('the condition Unused has status, reason and message if unused is %s', (unused, status, reason, message) => {
    expect(unusedPatch(bound, unused, 0)).toEqual({
      kind: 'strategic',
      body: {
        metadata: { uid: 'uid-data' },
        status: {
          conditions: [
            {
              type: 'Unused',
              status,
              reason,
              message,
              lastProbeTime: null,
              lastTransitionTime: '1970-01-01T00:00:00Z',
            },
          ],
        },
      },
    })
  })
})

describe('volumes', () => {
  it.each([
    { phase: 'Bound' as const, does: 'nothing' },
    { phase: 'Released' as const, does: 'release' },
    { phase: 'Available' as const, does: 'release' },
  ])('the protection of a deleted volume in phase $phase does $does', ({ phase, does }) => {
    expect(decideVolumeProtection(volume({ deleting: true, phase })).kind).toBe(does)
  })

  it('every volume that is not being deleted gets the protection finalizer', () => {
    expect(decideVolumeProtection(volume({ finalizers: ['other/x'] })).kind).toBe('protect')
  })
})
