import type { InformerEvent } from '@csi-sidecars/informer'
import { describe, expect, it } from '@jest/globals'
import { projectClaim, type ResizerClaim } from '../caches/claim.ts'
import { type ClaimFields, claim } from '../testing/builders.ts'
import { classChanged, onClaim, wasTried } from './triggers.ts'

const cachedClaim = (fields: ClaimFields = {}): ResizerClaim => projectClaim(claim(fields))
const updated = (
  before: ClaimFields,
  after: ClaimFields,
  origin: 'change' | 'resync' = 'change',
): InformerEvent<ResizerClaim> => ({
  type: 'updated',
  before: cachedClaim(before),
  after: cachedClaim(after),
  origin,
})
const inProgress = { modifyVolumeStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'gold' } }
const gold = { currentVolumeAttributesClassName: 'gold' }

describe('onClaim', () => {
  it.each<[name: string, event: InformerEvent<ResizerClaim>]>([
    ['when the claim is new in the cache', { type: 'added', object: cachedClaim() }],
    ['when the claim requests another class', updated({}, { wantedClass: 'gold' })],
    [
      'when the claim no longer requests a class',
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
      'when a modification has ended and the claim requests another class',
      updated({ wantedClass: 'silver', status: inProgress }, { wantedClass: 'silver', status: gold }),
    ],
    [
      'at a resync if the claim requests another class',
      updated({ wantedClass: 'gold' }, { wantedClass: 'gold' }, 'resync'),
    ],
  ])('a run of a modification starts %s', (_what, event) => expect(onClaim(event)).toEqual(['ns/data']))

  it.each<[name: string, event: InformerEvent<ResizerClaim>]>([
    ['when the claim is deleted', { type: 'deleted', object: cachedClaim() }],
    [
      'when the claim is not bound',
      updated({ status: { phase: 'Lost' } }, { wantedClass: 'gold', status: { phase: 'Lost' } }),
    ],
    [
      'when a modification to the requested class has ended',
      updated({ wantedClass: 'gold', status: inProgress }, { wantedClass: 'gold', status: gold }),
    ],
    ['when only the requested size changes', updated({}, { request: '2Gi' })],
    [
      'at a resync while the claim is being modified',
      updated({ wantedClass: 'gold', status: inProgress }, { wantedClass: 'gold', status: inProgress }, 'resync'),
    ],
  ])('no run of a modification starts %s', (_what, event) => expect(onClaim(event)).toEqual([]))
})

describe('classChanged', () => {
  it('`classChanged` returns the key of a claim whose requested class changes', () =>
    expect(classChanged(updated({}, { wantedClass: 'gold' }))).toEqual(['ns/data']))

  it.each<[name: string, event: InformerEvent<ResizerClaim>]>([
    ['a claim that is new in the cache', { type: 'added', object: cachedClaim({ wantedClass: 'gold' }) }],
    ['a change of another field', updated({ wantedClass: 'gold' }, { wantedClass: 'gold', request: '2Gi' })],
  ])('`classChanged` ignores %s', (_what, event) => expect(classChanged(event)).toEqual([]))
})

describe('wasTried', () => {
  it.each([
    [undefined, false],
    ['Pending', false],
    ['InProgress', true],
    ['Infeasible', true],
  ])('`wasTried` reports for a claim whose modification has status %s: %s', (status, expected) => {
    const modifyVolumeStatus = status && { modifyVolumeStatus: { status } }
    expect(wasTried(cachedClaim({ status: { ...modifyVolumeStatus } }))).toBe(expected)
  })
})
