import type { PersistentVolume } from '@csi-sidecars/kube-types'
import { DRIVER, pv } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { VOLUME_FINALIZER } from '../caches/names.ts'
import { type ProvisionerVolume, volumeProjection } from '../caches/volume.ts'
import { onVolume } from './triggers.ts'

const project = volumeProjection({ driver: DRIVER, inTree: undefined }, undefined)
const volume = (
  resourceVersion: string,
  metadata: PersistentVolume['metadata'] = {},
  persistentVolumeReclaimPolicy = 'Delete',
): ProvisionerVolume => {
  const annotations = { 'pv.kubernetes.io/provisioned-by': DRIVER, ...metadata.annotations }
  const object = pv('pv', { metadata: { uid: 'u', ...metadata, annotations, resourceVersion } })
  const spec = { ...object.spec, persistentVolumeReclaimPolicy }
  return project({ ...object, spec, status: { phase: 'Released' } })
}
const keys = (before: ProvisionerVolume, after: ProvisionerVolume): readonly string[] => [
  ...onVolume({ type: 'updated', before, after, origin: 'change' }),
]
const PROTECTED = { finalizers: [VOLUME_FINALIZER] }

describe('onVolume', () => {
  it.each([
    ['adds its finalizer', volume('1'), volume('2', PROTECTED)],
    [
      'removes its finalizer from a deleted volume',
      volume('1', { ...PROTECTED, deletionTimestamp: '2026-01-01T00:00:00Z' }),
      volume('2', { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    ],
    ['removes its finalizer from a retained volume', volume('1', PROTECTED, 'Retain'), volume('2', {}, 'Retain')],
  ])('a volume is not enqueued if this process %s', (_, before, after) => {
    expect(keys(before, after)).toEqual([])
  })

  it.each([
    ['without our finalizer', {}],
    ['with our finalizer', PROTECTED],
  ])('a volume %s is not enqueued after a change of fields that are not cached', (_, metadata) => {
    expect(keys(volume('1', metadata), volume('2', metadata))).toEqual([])
  })

  it('a new volume is enqueued if this provisioner is responsible, and a deleted volume is not', () => {
    const foreign = volume('1', { annotations: { 'pv.kubernetes.io/provisioned-by': 'other' } })
    expect([...onVolume({ type: 'added', object: volume('1') })]).toEqual(['pv'])
    expect([...onVolume({ type: 'added', object: foreign })]).toEqual([])
    expect([...onVolume({ type: 'deleted', object: volume('1') })]).toEqual([])
  })

  it.each([
    ['removes our finalizer', volume('1', PROTECTED), volume('2')],
    ['changes an annotation of a released volume', volume('1'), volume('2', { annotations: { a: 'b' } })],
    ['changes a label of a released volume', volume('1'), volume('2', { labels: { a: 'b' } })],
    ['deletes the volume', volume('1'), volume('2', { deletionTimestamp: '2026-01-01T00:00:00Z' })],
  ])('a volume is enqueued if another writer %s', (_, before, after) => {
    expect(keys(before, after)).toEqual(['pv'])
  })
})
