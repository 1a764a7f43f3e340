import type { PersistentVolume } from '@csi-sidecars/kube-types'
import { DRIVER, pv } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { VOLUME_FINALIZER } from './caches/names.ts'
import { permittedVolume, type ReleasedVolume } from './deletion-permit.ts'

const UID = 'uid-1'
const SPEC = { persistentVolumeReclaimPolicy: 'Delete', csi: { driver: DRIVER, volumeHandle: 'vol-1' } } as const
const DELETED = '2026-01-01T00:00:00Z'

function released(
  changes: { metadata?: object; spec?: object; status?: object },
  facts: Partial<ReleasedVolume> = {},
): ReleasedVolume {
  const volume: PersistentVolume = {
    ...pv('pv-1'),
    metadata: { name: 'pv-1', uid: UID, finalizers: [VOLUME_FINALIZER], ...changes.metadata },
    spec: { ...SPEC, ...changes.spec },
    status: { phase: 'Released', ...changes.status },
  }
  return { kind: 'released', pv: volume, uid: UID, volumeId: 'vol-1', attachedTo: undefined, isCloned: false, ...facts }
}

describe('the permit of a released PersistentVolume', () => {
  it.each<[string, ReleasedVolume]>([
    ['is released, with the policy Delete', released({})],
    ['is being deleted, but has our finalizer', released({ metadata: { deletionTimestamp: DELETED } })],
    ['never had our finalizer', released({ metadata: { finalizers: undefined } })],
  ])('permits the deletion if the PersistentVolume %s', (_, permit) => {
    expect(permittedVolume(permit)).toBe('vol-1')
  })

  it.each<[string, ReleasedVolume]>([
    ['was recreated', released({ metadata: { uid: 'uid-2' } })],
    ['is bound', released({ status: { phase: 'Bound' } })],
    ['has the policy Retain', released({ spec: { persistentVolumeReclaimPolicy: 'Retain' } })],
    ['has another volume', released({ spec: { csi: { driver: DRIVER, volumeHandle: 'vol-2' } } })],
    ['is not a CSI volume', released({ spec: { csi: undefined, hostPath: { path: '/' } } })],
    [
      'is being deleted, without our finalizer',
      released({ metadata: { deletionTimestamp: DELETED, finalizers: ['example.com/other'] } }),
    ],
    ['is attached', released({}, { attachedTo: 'node-1' })],
    ['is being cloned', released({}, { isCloned: true })],
  ])('refuses the deletion if the PersistentVolume %s', (_, permit) => {
    expect(() => permittedVolume(permit)).toThrow('the PersistentVolume pv-1 does not permit to delete vol-1')
  })
})

describe('the permit of an unwanted volume', () => {
  it('permits the deletion if no PersistentVolume names the volume', () => {
    expect(permittedVolume({ kind: 'unwanted', volumeId: 'vol-1', owner: undefined })).toBe('vol-1')
  })

  it('refuses the deletion if a PersistentVolume names the volume', () => {
    const owner = { name: 'imported', deleting: false }
    expect(() => permittedVolume({ kind: 'unwanted', volumeId: 'vol-1', owner })).toThrow('imported')
  })
})
