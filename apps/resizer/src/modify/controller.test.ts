import type { InformerEvent } from '@csi-sidecars/informer'
import { describe, expect, it } from '@jest/globals'
import { projectClaim, type ResizerClaim } from '../caches/claim.ts'
import { type ClaimParts, claim } from '../testing/builders.ts'
import { classChanged, onClaim, wasTried } from './controller.ts'

const known = (parts: ClaimParts = {}): ResizerClaim => projectClaim(claim(parts))
const updated = (
  before: ClaimParts,
  after: ClaimParts,
  cause: 'watch' | 'own' | 'resync' = 'watch',
): InformerEvent<ResizerClaim> => ({
  type: 'updated',
  before: known(before),
  after: known(after),
  cause,
})
const inProgress = { modifyVolumeStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'gold' } }
const gold = { currentVolumeAttributesClassName: 'gold' }

describe('a run over the class of a claim', () => {
  it.each<[what: string, event: InformerEvent<ResizerClaim>]>([
    ['when the claim is seen first', { type: 'added', object: known() }],
    ['when another class is wanted', updated({}, { wantedClass: 'gold' })],
    [
      'when the claim no longer requests one',
      updated({ wantedClass: 'gold', status: inProgress }, { status: inProgress }),
    ],
    [
      'when the claim is bound while it is being modified',
      updated({ status: { ...inProgress, phase: 'Pending' } }, { status: inProgress }),
    ],
    [
      'when the claim is bound',
      updated({ wantedClass: 'gold', status: { phase: 'Pending' } }, { wantedClass: 'gold' }),
    ],
    [
      'when a modification has ended and another class is wanted',
      updated({ wantedClass: 'silver', status: inProgress }, { wantedClass: 'silver', status: gold }, 'own'),
    ],
    [
      'at a resync, of a claim that wants another class',
      updated({ wantedClass: 'gold' }, { wantedClass: 'gold' }, 'resync'),
    ],
  ])('starts %s', (_what, event) => expect(onClaim(event)).toEqual(['ns/data']))

  it.each<[what: string, event: InformerEvent<ResizerClaim>]>([
    ['when the claim is gone', { type: 'deleted', object: known() }],
    [
      'when the claim is not bound',
      updated({ status: { phase: 'Lost' } }, { wantedClass: 'gold', status: { phase: 'Lost' } }),
    ],
    [
      'when its modification has ended as it was wanted',
      updated({ wantedClass: 'gold', status: inProgress }, { wantedClass: 'gold', status: gold }, 'own'),
    ],
    ['when its size changes', updated({}, { request: '2Gi' })],
    [
      'at a resync, while it is being modified',
      updated({ wantedClass: 'gold', status: inProgress }, { wantedClass: 'gold', status: inProgress }, 'resync'),
    ],
  ])('does not start %s', (_what, event) => expect(onClaim(event)).toEqual([]))
})

describe("reset of a claim's earlier failures", () => {
  it('happens when the requested class changes', () =>
    expect(classChanged(updated({}, { wantedClass: 'gold' }))).toEqual(['ns/data']))

  it.each<[what: string, event: InformerEvent<ResizerClaim>]>([
    ['when the claim is seen first', { type: 'added', object: known({ wantedClass: 'gold' }) }],
    ['when the same class is wanted', updated({ wantedClass: 'gold' }, { wantedClass: 'gold', request: '2Gi' })],
  ])('does not happen %s', (_what, event) => expect(classChanged(event)).toEqual([]))
})

describe('the priority at a start', () => {
  it.each([
    [undefined, false],
    ['Pending', false],
    ['InProgress', true],
    ['Infeasible', true],
  ])('a cached claim with status %s has a low priority: %s', (status, expected) => {
    const modifyVolumeStatus = status && { modifyVolumeStatus: { status } }
    expect(wasTried(known({ status: { ...modifyVolumeStatus } }))).toBe(expected)
  })
})
