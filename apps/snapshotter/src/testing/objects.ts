import { applyMergePatch, type Json } from '@csi-sidecars/emulator'
import type {
  KubeObject,
  VolumeGroupSnapshotContent,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from '@csi-sidecars/kube-types'
import { GROUP_NAMES, SNAPSHOT_NAMES } from '../caches/names.ts'

export const DRIVER = 'csi.example.com'
export const UID = '00000000-1111-2222-3333-444444444444'

const SNAPSHOT_API = 'snapshot.storage.k8s.io/v1'
const GROUP_API = 'groupsnapshot.storage.k8s.io/v1'

function made<T extends KubeObject>(shortest: T, change: object): T {
  return applyMergePatch(shortest as unknown as Json, change as Json) as unknown as T
}

/** Returns a VolumeSnapshotContent for a new snapshot of `vol-1`. `change` is a merge patch of this object. */
export function vsc(name = 'c', change: object = {}): VolumeSnapshotContent {
  return made<VolumeSnapshotContent>(
    {
      apiVersion: SNAPSHOT_API,
      kind: 'VolumeSnapshotContent',
      metadata: { name, finalizers: [SNAPSHOT_NAMES.finalizer] },
      spec: {
        driver: DRIVER,
        deletionPolicy: 'Delete',
        volumeSnapshotClassName: 'k',
        source: { volumeHandle: 'vol-1' },
        volumeSnapshotRef: { namespace: 'default', name: 's', uid: UID },
      },
    },
    change,
  )
}

/** Returns a VolumeSnapshotContent for a pre-provisioned snapshot. */
export function preProvisioned(name = 'c', change: object = {}): VolumeSnapshotContent {
  const spec = { source: { volumeHandle: null, snapshotHandle: 'snap-given' }, volumeSnapshotClassName: null }
  return made(vsc(name, { spec }), change)
}

export function vgsc(name = 'g', change: object = {}): VolumeGroupSnapshotContent {
  return made<VolumeGroupSnapshotContent>(
    {
      apiVersion: GROUP_API,
      kind: 'VolumeGroupSnapshotContent',
      metadata: { name, finalizers: [GROUP_NAMES.finalizer] },
      spec: {
        driver: DRIVER,
        deletionPolicy: 'Delete',
        volumeGroupSnapshotClassName: 'k',
        source: { volumeHandles: ['vol-1', 'vol-2'] },
        volumeGroupSnapshotRef: { namespace: 'default', name: 'gs', uid: UID },
      },
    },
    change,
  )
}

export function preProvisionedGroup(name = 'g', change: object = {}): VolumeGroupSnapshotContent {
  const groupSnapshotHandles = { volumeGroupSnapshotHandle: 'group-given', volumeSnapshotHandles: ['s-1', 's-2'] }
  const spec = { source: { volumeHandles: null, groupSnapshotHandles }, volumeGroupSnapshotClassName: null }
  return made(vgsc(name, { spec }), change)
}

export function snapshotClass(name = 'k', change: object = {}): VolumeSnapshotClass {
  return made<VolumeSnapshotClass>(
    {
      apiVersion: SNAPSHOT_API,
      kind: 'VolumeSnapshotClass',
      metadata: { name },
      driver: DRIVER,
      deletionPolicy: 'Delete',
    },
    change,
  )
}

export function groupClass(name = 'k', change: object = {}): VolumeSnapshotClass {
  return made(snapshotClass(name, { apiVersion: GROUP_API, kind: 'VolumeGroupSnapshotClass' }), change)
}
