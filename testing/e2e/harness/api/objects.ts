import type {
  CSINode,
  CSIPersistentVolumeSource,
  Lease,
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  PersistentVolumeSpec,
  Pod,
  Secret,
  StorageClass,
  VolumeAttachment,
  VolumeAttributesClass,
} from '@csi-sidecars/kube-types'

export type VolumeParts = Omit<Partial<PersistentVolumeSpec>, 'csi'> & {
  readonly metadata?: object
  /** More fields of the CSI source. Null creates a volume without a CSI source. */
  readonly csi?: Partial<CSIPersistentVolumeSource> | null
}

export function csiNode(
  name: string,
  nodeIds: Readonly<Record<string, string>>,
  topologyKeys: readonly string[] = [],
): CSINode {
  const drivers = Object.entries(nodeIds).map(([driver, nodeID]) => ({ name: driver, nodeID, topologyKeys }))
  return { apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata: { name }, spec: { drivers } }
}

export function volume(
  name: string,
  driver: string,
  { metadata = {}, csi, ...spec }: VolumeParts = {},
): PersistentVolume {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name, ...metadata },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      ...(csi === null ? {} : { csi: { driver, volumeHandle: `${name}-handle`, ...csi } }),
      ...spec,
    },
  }
}

export function attachment(
  name: string,
  attacher: string,
  { pv, node = 'node', metadata = {}, source }: { pv?: string; node?: string; metadata?: object; source?: object },
): VolumeAttachment {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name, ...metadata },
    spec: { attacher, nodeName: node, source: source ?? { persistentVolumeName: pv } },
  }
}

export function secret(namespace: string, name: string, data: Readonly<Record<string, string | Buffer>>): Secret {
  const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')])
  return { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name }, data: Object.fromEntries(encoded) }
}

export function lease(name: string, spec: Lease['spec'], labels?: Readonly<Record<string, string>>): Lease {
  const metadata = { namespace: 'default', name, labels }
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec }
}

export function storageClass(name: string, provisioner: string): StorageClass {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name },
    provisioner,
    allowVolumeExpansion: true,
    volumeBindingMode: 'Immediate',
  }
}

export function claim(
  namespace: string,
  name: string,
  { metadata = {}, size = '1Gi', ...spec }: Partial<PersistentVolumeClaimSpec> & { metadata?: object; size?: string },
): PersistentVolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { namespace, name, ...metadata },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: size } }, ...spec },
  }
}

/** Returns the reference by which a volume is bound to a claim. */
export function referenceTo({ metadata: { namespace, name, uid } = {} }: PersistentVolumeClaim): object {
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid }
}

export function attributesClass(
  name: string,
  driverName: string,
  parameters: Readonly<Record<string, string>>,
): VolumeAttributesClass {
  return { apiVersion: 'storage.k8s.io/v1', kind: 'VolumeAttributesClass', metadata: { name }, driverName, parameters }
}

/** Returns a pod with these volumes. No kubelet runs it. */
export function pod(namespace: string, name: string, volumes: readonly object[]): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name },
    spec: { containers: [{ name: 'c', image: 'none' }], volumes: volumes as NonNullable<Pod['spec']>['volumes'] },
  }
}
