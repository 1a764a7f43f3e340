import type { PersistentVolume } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { decideConflict } from './decide-conflict.ts'

const CREATED = { volumeId: 'vol-1', secretRef: undefined, secrets: {}, migrated: false }
const CLAIM = { uid: 'uid' }
const DYING = { deletionTimestamp: '2026-01-01T00:00:00Z' }

function existing(volume: { metadata?: object; spec?: object; phase?: string }): PersistentVolume {
  const { metadata, spec, phase = 'Bound' } = volume
  const csi = { driver: 'csi.example.com', volumeHandle: 'vol-1' }
  return {
    metadata: { name: 'pvc-uid', ...metadata },
    spec: { csi, claimRef: CLAIM, persistentVolumeReclaimPolicy: 'Delete', ...spec },
    status: { phase },
  } as PersistentVolume
}

const other = { csi: { driver: 'csi.example.com', volumeHandle: 'vol-2' } }

describe('decideConflict', () => {
  it.each<[string, ReturnType<typeof decideConflict>, Parameters<typeof existing>[0], object?]>([
    ['the same volume for the claim', 'stored', {}],
    ['the same volume for another claim', 'keepVolume', { spec: { claimRef: { uid: 'other' } } }],
    ['the same volume for no claim', 'keepVolume', { spec: { claimRef: undefined } }],
    ['another volume', 'deleteVolume', { spec: other }],
    ['the same volume, released and not being deleted', 'stored', { phase: 'Released' }],
    ['the same volume, bound and being deleted', 'stored', { metadata: DYING }],
    ['the same volume, released and being deleted', 'deleteVolume', { metadata: DYING, phase: 'Released' }],
    [
      'the same volume, released, retained and being deleted',
      'stored',
      { metadata: DYING, phase: 'Released', spec: { persistentVolumeReclaimPolicy: 'Retain' } },
    ],
    ['a volume of another kind', 'keepVolume', { spec: { csi: undefined, hostPath: { path: '/' } } }],
    ['another volume while the new volume is migrated', 'keepVolume', { spec: other }, { migrated: true }],
    [
      'an in-tree volume with a handle that no plugin understands',
      'keepVolume',
      { spec: { csi: undefined, awsElasticBlockStore: { volumeID: 'aws://' } } },
    ],
  ])(
    'if a PersistentVolume of the same name refers to %s, the decision about the new volume is %s',
    (_, decision, volume, created = {}) => {
      expect(decideConflict(existing(volume), { claimUid: 'uid', created: { ...CREATED, ...created } })).toBe(decision)
    },
  )

  it.each<[string, object]>([
    ['any fields', {}],
    ['a specification, and is being deleted', { metadata: DYING }],
    ['a specification, and is released and being deleted', { metadata: DYING, status: { phase: 'Released' } }],
  ])('the new volume is kept if the PersistentVolume of the same name lacks %s', (_, volume) => {
    expect(decideConflict(volume as PersistentVolume, { claimUid: 'uid', created: CREATED })).toBe('keepVolume')
  })
})
