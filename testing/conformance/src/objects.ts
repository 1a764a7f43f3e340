/** Bodies that the cases share. */
export const DRIVER = 'csi.example.com'
export const CORE = '/api/v1'
export const STORAGE = '/apis/storage.k8s.io/v1'
export const RBAC = '/apis/rbac.authorization.k8s.io/v1'
export const IN_DEFAULT = `${CORE}/namespaces/default`

/** Accepts a table of objects. */
export const TABLE = 'application/json;as=Table;g=meta.k8s.io;v=v1'

export type BodyFields = Readonly<Record<string, unknown>>

export function volume(name: string, spec: BodyFields = {}, metadata: BodyFields = {}): BodyFields {
  const csi = { driver: DRIVER, volumeHandle: `handle-of-${name}` }
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name, ...metadata },
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], csi, ...spec },
  }
}

export function claim(name: string, spec: BodyFields = {}, metadata: BodyFields = {}): BodyFields {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, ...metadata },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  }
}

export function attachment(name: string, spec: BodyFields = {}, rest: BodyFields = {}): BodyFields {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name },
    spec: { attacher: DRIVER, nodeName: 'node-1', source: { persistentVolumeName: 'pv-1' }, ...spec },
    ...rest,
  }
}

export function storageClass(name: string, rest: BodyFields = {}): BodyFields {
  return { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name }, provisioner: DRIVER, ...rest }
}

export function pod(name: string, spec: BodyFields = {}): BodyFields {
  const containers = [{ name: 'main', image: 'none' }]
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers, ...spec } }
}

export function configMap(name: string, rest: BodyFields = {}): BodyFields {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, ...rest }
}

/** Status of a bound claim of one gibibyte. */
export const BOUND = { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } }
