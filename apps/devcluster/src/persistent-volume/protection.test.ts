import { describe, expect, it } from '@jest/globals'
import { claim, pod, volume } from '../testing/objects.ts'
import { decideClaimProtection, decideVolumeProtection } from './protection.ts'

describe('protection of a claim', () => {
  it('is put on every claim that lives', () => {
    expect(decideClaimProtection(claim({ finalizers: undefined }), [])).toEqual({
      do: 'protect',
      patch: {
        kind: 'json',
        body: [
          { op: 'test', path: '/metadata/finalizers', value: null },
          { op: 'add', path: '/metadata/finalizers', value: ['kubernetes.io/pvc-protection'] },
        ],
      },
    })
  })

  it('stays on a claim that nobody deletes', () => {
    expect(decideClaimProtection(claim(), [])).toEqual({ do: 'nothing' })
  })

  it('goes with the last pod that was placed', () => {
    expect(decideClaimProtection(claim({ deleting: true }), []).do).toBe('release')
  })

  it('stays while a pod uses the claim, ended or not', () => {
    const deleted = claim({ deleting: true })
    expect(decideClaimProtection(deleted, [pod({ phase: 'Succeeded' })]).do).toBe('nothing')
  })

  it('does not stay for a pod that nobody has placed', () => {
    expect(decideClaimProtection(claim({ deleting: true }), [pod({ nodeName: '' })]).do).toBe('release')
  })

  it('is not put on a claim that is being deleted', () => {
    expect(decideClaimProtection(claim({ deleting: true, finalizers: ['other/x'] }), []).do).toBe('nothing')
  })
})

describe('protection of a volume', () => {
  it.each([
    { phase: 'Bound' as const, does: 'nothing' },
    { phase: 'Released' as const, does: 'release' },
    { phase: 'Available' as const, does: 'release' },
  ])('of a deleted one that is $phase: $does', ({ phase, does }) => {
    expect(decideVolumeProtection(volume({ deleting: true, phase })).do).toBe(does)
  })

  it('is put on every volume that lives', () => {
    expect(decideVolumeProtection(volume({ finalizers: ['other/x'] })).do).toBe('protect')
  })
})
