import type { InformerEvent } from '@csi-sidecars/informer'
import { describe, expect, it } from '@jest/globals'
import { projectClaim, type ResizerClaim } from '../caches/claim.ts'
import { type ResizerVolume, volumeProjection } from '../caches/volume.ts'
import { type ClaimFields, claim, DRIVER, type VolumeFields, volume } from '../testing/builders.ts'
import { onClaim, onVolume, requestChanged, wasTried } from './triggers.ts'

const cachedClaim = (fields: ClaimFields = {}): ResizerClaim => projectClaim(claim(fields))

function updated(
  before: ClaimFields,
  after: ClaimFields,
  origin: 'change' | 'resync' = 'change',
): InformerEvent<ResizerClaim> {
  return { type: 'updated', before: cachedClaim(before), after: cachedClaim(after), origin }
}

const resizer = { 'volume.kubernetes.io/storage-resizer': 'x' }

describe('onClaim', () => {
  it.each<[name: string, event: InformerEvent<ResizerClaim>]>([
    ['when the claim is new in the cache', { type: 'added', object: cachedClaim() }],
    ['at each resync', updated({}, {}, 'resync')],
    ['when the request grows', updated({}, { request: '2Gi' })],
    ['when the request shrinks', updated({ request: '2Gi' }, { request: '1536Mi' })],
    ['when the request becomes invalid', updated({}, { request: 'much' })],
    ['when the claim gets another resizer', updated({}, { annotations: resizer })],
    ['when the capacity grows', updated({}, { capacity: '2Gi' })],
    ['when the claim gets a capacity', updated({ capacity: null }, { capacity: '1Gi' })],
    ['when an invalid capacity becomes valid', updated({ capacity: 'much' }, {})],
    [
      'when the claim gets another volume',
      { type: 'updated', before: { ...cachedClaim(), volumeName: 'x' }, after: cachedClaim(), origin: 'change' },
    ],
    ['when the claim is bound', updated({ status: { phase: 'Pending' } }, {})],
    ['when the kubelet begins', updated({ sizeStatus: 'NodeResizePending' }, { sizeStatus: 'NodeResizeInProgress' })],
    ['when the kubelet fails', updated({ sizeStatus: 'NodeResizePending' }, { sizeStatus: 'NodeResizeInfeasible' })],
    ['when another writer removes the status', updated({ sizeStatus: 'NodeResizeInfeasible' }, {})],
    ['when the answer to our patch shows a larger request', updated({}, { request: '2Gi' })],
    ['when another writer sets ControllerResizeInProgress', updated({}, { sizeStatus: 'ControllerResizeInProgress' })],
    ['when another writer sets NodeResizePending', updated({}, { sizeStatus: 'NodeResizePending' })],
  ])('a run of an expansion starts %s', (_what, event) =>
    expect(onClaim(event, { isInWork: () => false })).toEqual(['ns/data']),
  )

  it.each<[name: string, event: InformerEvent<ResizerClaim>]>([
    ['when the claim is deleted', { type: 'deleted', object: cachedClaim() }],
    ['when only the notation of the request changes', updated({ request: '1Gi' }, { request: '1024Mi' })],
    ['when the request stays invalid', updated({ request: 'much' }, { request: 'much', wantedClass: 'gold' })],
    ['when the capacity stays invalid', updated({ capacity: 'much' }, { capacity: 'much', wantedClass: 'gold' })],
    ['when only the notation of the capacity changes', updated({ capacity: '1Gi' }, { capacity: '1024Mi' })],
    ['when a missing capacity becomes 0', updated({ capacity: null }, { capacity: '0' })],
    ['when the capacity shrinks', updated({ capacity: '2Gi' }, {})],
    [
      'when labels, other annotations or conditions change',
      updated({}, { annotations: { mine: 'x' }, status: { conditions: [{ type: 'Resizing', status: 'True' }] } }),
    ],
    ['when the claim requests another class', updated({}, { wantedClass: 'gold' })],
    ['when we set ControllerResizeInProgress', updated({}, { sizeStatus: 'ControllerResizeInProgress' })],
    [
      'when the watch delivers our status before the answer to our patch',
      updated({}, { sizeStatus: 'ControllerResizeInProgress' }),
    ],
    ['when we set ControllerResizeInfeasible', updated({}, { sizeStatus: 'ControllerResizeInfeasible' })],
    ['when we set NodeResizePending', updated({}, { sizeStatus: 'NodeResizePending' })],
  ])('no run of an expansion starts %s', (_what, event) => expect(onClaim(event, { isInWork: () => true })).toEqual([]))
})

describe('requestChanged', () => {
  it.each<[name: string, event: InformerEvent<ResizerClaim>, keys: readonly string[]]>([
    ['returns a claim whose request grows', updated({}, { request: '2Gi' }), ['ns/data']],
    ['returns a claim whose request shrinks', updated({ request: '2Gi' }, { request: '1536Mi' }), ['ns/data']],
    ['ignores another notation of the same request', updated({ request: '1Gi' }, { request: '1024Mi' }), []],
    ['ignores changes of other fields', updated({}, { capacity: '2Gi', wantedClass: 'gold' }), []],
    ['ignores a resync', updated({}, {}, 'resync'), []],
    ['ignores a claim that is new in the cache', { type: 'added', object: cachedClaim() }, []],
  ])('`requestChanged` %s', (_what, event, keys) => expect(requestChanged(event)).toEqual(keys))
})

describe('onVolume', () => {
  const PRE_RESIZE = 'volume.alpha.kubernetes.io/pre-resize-capacity'
  const pv = (fields: VolumeFields = {}): ResizerVolume => volumeProjection(DRIVER)(volume(fields))
  const old = pv({ annotations: { [PRE_RESIZE]: '1Gi' } })
  const larger = pv({ capacity: '2Gi', annotations: { [PRE_RESIZE]: '1Gi' } })
  const changed = (before: ResizerVolume, after: ResizerVolume): InformerEvent<ResizerVolume> => ({
    type: 'updated',
    before,
    after,
    origin: 'change',
  })

  it.each<[name: string, event: InformerEvent<ResizerVolume>, inWork: boolean, keys: readonly string[]]>([
    ['returns the claim of a new volume with an old size', { type: 'added', object: old }, false, ['ns/data']],
    ['returns the claim when the volume gets the old-size annotation', changed(pv(), old), false, ['ns/data']],
    [
      'returns the claim when the old-size annotation changes',
      changed(pv({ annotations: { [PRE_RESIZE]: '2Gi' } }), old),
      false,
      ['ns/data'],
    ],
    ['returns no claim while the run that wrote the old-size annotation works', changed(pv(), old), true, []],
    ['returns the claim when another writer shrinks the volume', changed(larger, old), false, ['ns/data']],
    ['returns the claim when another writer shrinks the volume during a run', changed(larger, old), true, ['ns/data']],
    ['returns no claim when the volume grows', changed(old, larger), false, []],
    ['returns no claim when the old-size annotation stays', changed(old, old), false, []],
    ['returns no claim when the old-size annotation is removed', changed(old, pv()), false, []],
    ['returns no claim of a volume without the old-size annotation', { type: 'added', object: pv() }, false, []],
    ['returns no claim of a deleted volume', { type: 'deleted', object: old }, false, []],
    [
      "returns no claim of another driver's volume",
      { type: 'added', object: pv({ driver: 'other', annotations: { [PRE_RESIZE]: '1Gi' } }) },
      false,
      [],
    ],
  ])('`onVolume` %s', (_what, event, inWork, keys) =>
    expect([...onVolume(event, { isInWork: () => inWork })]).toEqual(keys),
  )
})

describe('wasTried', () => {
  it.each([
    [undefined, false],
    ['ControllerResizeInProgress', true],
    ['ControllerResizeInfeasible', true],
    ['NodeResizePending', false],
    ['NodeResizeInfeasible', false],
  ])('`wasTried` reports for a claim whose expansion has status %s: %s', (sizeStatus, expected) => {
    expect(wasTried(cachedClaim(sizeStatus === undefined ? {} : { sizeStatus }))).toBe(expected)
  })
})
