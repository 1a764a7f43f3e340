import { applyMergePatch, type Json } from '@csi-sidecars/emulator'
import type {
  ConfigMap,
  CSINode,
  Lease,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Secret,
  StorageClass,
  VolumeAttachment,
  VolumeAttributesClass,
} from '@csi-sidecars/kube-types'

/** Changes to a minimal valid object. A value sets a field at any depth, and null removes a field. */
export type ObjectChange<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: ObjectChange<T[K]> | null }
    : T

/** An object with a name. */
export type Made<T> = T & { readonly metadata: { readonly name: string } }

export const DRIVER = 'csi.example.com'

function made<T>(shortest: T, change: ObjectChange<T> | undefined): Made<T> {
  return (change === undefined ? shortest : applyMergePatch(shortest as Json, change as Json)) as Made<T>
}

const STORAGE = 'storage.k8s.io/v1'

export function va(name = 'va-1', change?: ObjectChange<VolumeAttachment>): Made<VolumeAttachment> {
  const spec = { attacher: DRIVER, nodeName: 'node-1', source: { persistentVolumeName: 'pv-1' } }
  return made<VolumeAttachment>({ apiVersion: STORAGE, kind: 'VolumeAttachment', metadata: { name }, spec }, change)
}

/** Returns a PersistentVolume of the driver. The handle of `pv-1` is `vol-1`. */
export function pv(name = 'pv-1', change?: ObjectChange<PersistentVolume>): Made<PersistentVolume> {
  const csi = { driver: DRIVER, volumeHandle: name.replace(/^pv-/, 'vol-') }
  const spec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], csi }
  return made<PersistentVolume>({ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name }, spec }, change)
}

/** Returns an unbound claim. */
export function pvc(name = 'pvc-1', change?: ObjectChange<PersistentVolumeClaim>): Made<PersistentVolumeClaim> {
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName: 'sc-1' }
  const metadata = { name, namespace: 'default' }
  return made<PersistentVolumeClaim>({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec }, change)
}

/** Returns a claim and a volume that are bound to each other, as the PersistentVolume controller leaves them. */
export function boundPair(
  options: {
    claim?: ObjectChange<PersistentVolumeClaim>
    volume?: ObjectChange<PersistentVolume>
    number?: number
  } = {},
): { readonly claim: Made<PersistentVolumeClaim>; readonly volume: Made<PersistentVolume> } {
  const { number = 1 } = options
  const names = { claim: `pvc-${number}`, volume: `pv-${number}` }
  const uid = `uid-${names.claim}`
  const plainClaim = pvc(names.claim, {
    metadata: { uid },
    spec: { volumeName: names.volume },
    status: { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } },
  })
  const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'default', name: names.claim, uid }
  const plainVolume = pv(names.volume, { spec: { claimRef, storageClassName: 'sc-1' }, status: { phase: 'Bound' } })
  return {
    claim: made<PersistentVolumeClaim>(plainClaim, options.claim),
    volume: made<PersistentVolume>(plainVolume, options.volume),
  }
}

/** Returns a CSINode on which the driver has the node ID `<name>-id`. */
export function csiNode(name = 'node-1', change?: ObjectChange<CSINode>): Made<CSINode> {
  const spec = { drivers: [{ name: DRIVER, nodeID: `${name}-id`, topologyKeys: [] }] }
  return made<CSINode>({ apiVersion: STORAGE, kind: 'CSINode', metadata: { name }, spec }, change)
}

/** Returns a StorageClass that allows expansion. */
export function storageClass(name = 'sc-1', change?: ObjectChange<StorageClass>): Made<StorageClass> {
  const metadata = { name }
  const shortest = {
    apiVersion: STORAGE,
    kind: 'StorageClass',
    metadata,
    provisioner: DRIVER,
    allowVolumeExpansion: true,
  }
  return made<StorageClass>(shortest, change)
}

export function vac(name = 'vac-1', change?: ObjectChange<VolumeAttributesClass>): Made<VolumeAttributesClass> {
  const parameters = { iops: '1000' }
  const shortest = {
    apiVersion: STORAGE,
    kind: 'VolumeAttributesClass',
    metadata: { name },
    driverName: DRIVER,
    parameters,
  }
  return made<VolumeAttributesClass>(shortest, change)
}

/** Returns a pod on node-1 that uses pvc-1. */
export function pod(name = 'pod-1', change?: ObjectChange<Pod>): Made<Pod> {
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'pvc-1' } }]
  const spec = { nodeName: 'node-1', containers: [{ name: 'main', image: 'none' }], volumes }
  const metadata = { name, namespace: 'default' }
  return made<Pod>({ apiVersion: 'v1', kind: 'Pod', metadata, spec, status: { phase: 'Running' } }, change)
}

/** Returns a Secret whose values are given as text. */
export function secret(name = 'secret-1', values: Readonly<Record<string, string>> = {}): Made<Secret> {
  const data = Object.fromEntries(
    Object.entries(values).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
  )
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'default' }, type: 'Opaque', data }
}

export function configMap(name = 'config-1', change?: ObjectChange<ConfigMap>): Made<ConfigMap> {
  return made<ConfigMap>({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } }, change)
}

/** Returns a Lease without a holder. */
export function lease(name = 'lease-1', change?: ObjectChange<Lease>): Made<Lease> {
  const metadata = { name, namespace: 'default' }
  return made<Lease>({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec: {} }, change)
}
