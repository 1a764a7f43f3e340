import type { InformerEvent } from '@csi-sidecars/informer'
import { describe, expect, it } from '@jest/globals'
import { projectClaim, type ResizerClaim } from '../caches/claim.ts'
import { type ResizerVolume, volumeProjection } from '../caches/volume.ts'
import { type ClaimParts, claim, DRIVER, type VolumeParts, volume } from '../testing/builders.ts'
import { onClaim, onVolume, requestChanged, wasTried } from './triggers.ts'

const known = (parts: ClaimParts = {}): ResizerClaim => projectClaim(claim(parts))

function updated(
  before: ClaimParts,
  after: ClaimParts,
  cause: 'watch' | 'own' | 'resync' = 'watch',
): InformerEvent<ResizerClaim> {
  return { type: 'updated', before: known(before), after: known(after), cause }
}

const resizer = { 'volume.kubernetes.io/storage-resizer': 'x' }

describe('a run over the size of a claim', () => {
  it.each<[what: string, event: InformerEvent<ResizerClaim>]>([
    ['when the claim is seen first', { type: 'added', object: known() }],
    ['at each resync', updated({}, {}, 'resync')],
    ['when the request grows', updated({}, { request: '2Gi' })],
    ['when the request shrinks', updated({ request: '2Gi' }, { request: '1536Mi' })],
    ['when the request becomes no size', updated({}, { request: 'much' })],
    ['when it gets another resizer', updated({}, { annotations: resizer })],
    ['when its capacity grows', updated({}, { capacity: '2Gi' })],
    ['when it gets a capacity', updated({ capacity: null }, { capacity: '1Gi' })],
    ['when its capacity is a size again', updated({ capacity: 'much' }, {})],
    [
      'when it gets another volume',
      { type: 'updated', before: { ...known(), volumeName: 'x' }, after: known(), cause: 'watch' },
    ],
    ['when it is bound', updated({ status: { phase: 'Pending' } }, {})],
    ['when the node begins', updated({ sizeStatus: 'NodeResizePending' }, { sizeStatus: 'NodeResizeInProgress' })],
    ['when the node fails', updated({ sizeStatus: 'NodeResizePending' }, { sizeStatus: 'NodeResizeInfeasible' })],
    ['when another writer removes the status', updated({ sizeStatus: 'NodeResizeInfeasible' }, {})],
    ['when our own write shows a larger request', updated({}, { request: '2Gi' }, 'own')],
    ['when another writer says that it began', updated({}, { sizeStatus: 'ControllerResizeInProgress' })],
    ['when another writer leaves it to the node', updated({}, { sizeStatus: 'NodeResizePending' })],
  ])('starts %s', (_what, event) => expect(onClaim(event, { isInWork: () => false })).toEqual(['ns/data']))

  it.each<[what: string, event: InformerEvent<ResizerClaim>]>([
    ['when it is gone', { type: 'deleted', object: known() }],
    ['when the request is written in other words', updated({ request: '1Gi' }, { request: '1024Mi' })],
    ['when its request stays no size', updated({ request: 'much' }, { request: 'much', wantedClass: 'gold' })],
    ['when its capacity stays no size', updated({ capacity: 'much' }, { capacity: 'much', wantedClass: 'gold' })],
    ['when its capacity is written in other words', updated({ capacity: '1Gi' }, { capacity: '1024Mi' })],
    ['when nothing becomes zero', updated({ capacity: null }, { capacity: '0' })],
    ['when its capacity shrinks', updated({ capacity: '2Gi' }, {})],
    [
      'when labels, other annotations or conditions change',
      updated({}, { annotations: { mine: 'x' }, status: { conditions: [{ type: 'Resizing', status: 'True' }] } }),
    ],
    ['when it wants another class', updated({}, { wantedClass: 'gold' })],
    ['when we begin', updated({}, { sizeStatus: 'ControllerResizeInProgress' }, 'own')],
    [
      'when the watch is faster than the answer to our beginning',
      updated({}, { sizeStatus: 'ControllerResizeInProgress' }),
    ],
    ['when we call it infeasible', updated({}, { sizeStatus: 'ControllerResizeInfeasible' }, 'own')],
    ['when we leave it to the node', updated({}, { sizeStatus: 'NodeResizePending' }, 'own')],
  ])('does not start %s', (_what, event) => expect(onClaim(event, { isInWork: () => true })).toEqual([]))
})

describe("reset of a claim's failures", () => {
  it.each<[what: string, event: InformerEvent<ResizerClaim>, keys: readonly string[]]>([
    ['when the request grows', updated({}, { request: '2Gi' }), ['ns/data']],
    ['when the request shrinks', updated({ request: '2Gi' }, { request: '1536Mi' }), ['ns/data']],
    ['not when the request is written in other words', updated({ request: '1Gi' }, { request: '1024Mi' }), []],
    ['not when something else changes', updated({}, { capacity: '2Gi', wantedClass: 'gold' }), []],
    ['not at a resync', updated({}, {}, 'resync'), []],
    ['not when it is seen first', { type: 'added', object: known() }, []],
  ])('%s', (_what, event, keys) => expect(requestChanged(event)).toEqual(keys))
})

describe('a run over the claim of a volume', () => {
  const PRE_RESIZE = 'volume.alpha.kubernetes.io/pre-resize-capacity'
  const pv = (parts: VolumeParts = {}): ResizerVolume => volumeProjection(DRIVER)(volume(parts))
  const old = pv({ annotations: { [PRE_RESIZE]: '1Gi' } })
  const larger = pv({ capacity: '2Gi', annotations: { [PRE_RESIZE]: '1Gi' } })
  const changed = (before: ResizerVolume, after: ResizerVolume): InformerEvent<ResizerVolume> => ({
    type: 'updated',
    before,
    after,
    cause: 'watch',
  })

  it.each<[what: string, event: InformerEvent<ResizerVolume>, inWork: boolean, keys: readonly string[]]>([
    ['when the volume is seen with its old size', { type: 'added', object: old }, false, ['ns/data']],
    ['when the volume gets its old size', changed(pv(), old), false, ['ns/data']],
    [
      'when the volume gets another old size',
      changed(pv({ annotations: { [PRE_RESIZE]: '2Gi' } }), old),
      false,
      ['ns/data'],
    ],
    ['not when the run that wrote it is still at work', changed(pv(), old), true, []],
    ['when another writer makes the volume smaller', changed(larger, old), false, ['ns/data']],
    ['when another writer makes it smaller during a run', changed(larger, old), true, ['ns/data']],
    ['not when the volume grows', changed(old, larger), false, []],
    ['not when the volume has had it', changed(old, old), false, []],
    ['not when the volume loses it', changed(old, pv()), false, []],
    ['not when the volume has none', { type: 'added', object: pv() }, false, []],
    ['not when the volume is gone', { type: 'deleted', object: old }, false, []],
    [
      "not when it is another driver's",
      { type: 'added', object: pv({ driver: 'other', annotations: { [PRE_RESIZE]: '1Gi' } }) },
      false,
      [],
    ],
  ])('%s', (_what, event, inWork, keys) => expect([...onVolume(event, { isInWork: () => inWork })]).toEqual(keys))
})

describe('the priority at a start', () => {
  it.each([
    [undefined, false],
    ['ControllerResizeInProgress', true],
    ['ControllerResizeInfeasible', true],
    ['NodeResizePending', false],
    ['NodeResizeInfeasible', false],
  ])('a cached claim with status %s has a low priority: %s', (sizeStatus, expected) => {
    expect(wasTried(known(sizeStatus === undefined ? {} : { sizeStatus }))).toBe(expected)
  })
})
