import { type ObjectRef, refOf } from './meta.ts'
import type {
  ClusterRole,
  ClusterRoleBinding,
  ConfigMap,
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  DaemonSet,
  Deployment,
  Event,
  KubeObject,
  Lease,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Role,
  RoleBinding,
  Secret,
  ServiceAccount,
  StatefulSet,
  StorageClass,
  VolumeAttachment,
  VolumeAttributesClass,
  VolumeGroupSnapshot,
  VolumeGroupSnapshotContent,
  VolumeSnapshot,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from './objects.ts'

/**
 * The address of the objects of one kind. `type` is never set: it only gives client methods the type of the objects.
 */
export interface Resource<T> {
  /** The API group. Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: string
  readonly namespaced: boolean
  readonly subresources: readonly string[]
  /** False for a review, which the API server answers without storing it. It has a status and no name. */
  readonly isStored?: false
  readonly type?: T
}

/** The target of a request: all objects of a resource or of a namespace, one object, or a subresource. */
export interface PathRef {
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly subresource?: string | undefined
}

const CORE = { group: '', version: 'v1' }
const STORAGE = { group: 'storage.k8s.io', version: 'v1' }
const APPS = { group: 'apps', version: 'v1' }
const SNAPSHOT = { group: 'snapshot.storage.k8s.io', version: 'v1' }
const GROUP_SNAPSHOT = { group: 'groupsnapshot.storage.k8s.io', version: 'v1' }
const RBAC = { group: 'rbac.authorization.k8s.io', version: 'v1' }
const CLUSTER = { namespaced: false, subresources: [] }
const NAMESPACED = { namespaced: true, subresources: [] }
const STATUS = ['status']

export const CONFIG_MAPS: Resource<ConfigMap> = { ...CORE, ...NAMESPACED, plural: 'configmaps', kind: 'ConfigMap' }
export const EVENTS: Resource<Event> = { ...CORE, ...NAMESPACED, plural: 'events', kind: 'Event' }
export const NAMESPACES: Resource<Namespace> = {
  ...CORE,
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
  subresources: STATUS,
}
export const NODES: Resource<Node> = {
  ...CORE,
  plural: 'nodes',
  kind: 'Node',
  namespaced: false,
  subresources: STATUS,
}
export const PERSISTENT_VOLUME_CLAIMS: Resource<PersistentVolumeClaim> = {
  ...CORE,
  plural: 'persistentvolumeclaims',
  kind: 'PersistentVolumeClaim',
  namespaced: true,
  subresources: STATUS,
}
export const PERSISTENT_VOLUMES: Resource<PersistentVolume> = {
  ...CORE,
  plural: 'persistentvolumes',
  kind: 'PersistentVolume',
  namespaced: false,
  subresources: STATUS,
}
export const PODS: Resource<Pod> = { ...CORE, plural: 'pods', kind: 'Pod', namespaced: true, subresources: STATUS }
export const SECRETS: Resource<Secret> = { ...CORE, ...NAMESPACED, plural: 'secrets', kind: 'Secret' }
export const SERVICE_ACCOUNTS: Resource<ServiceAccount> = {
  ...CORE,
  plural: 'serviceaccounts',
  kind: 'ServiceAccount',
  namespaced: true,
  subresources: ['token'],
}

export const CSI_DRIVERS: Resource<CSIDriver> = { ...STORAGE, ...CLUSTER, plural: 'csidrivers', kind: 'CSIDriver' }
export const CSI_NODES: Resource<CSINode> = { ...STORAGE, ...CLUSTER, plural: 'csinodes', kind: 'CSINode' }
export const CSI_STORAGE_CAPACITIES: Resource<CSIStorageCapacity> = {
  ...STORAGE,
  ...NAMESPACED,
  plural: 'csistoragecapacities',
  kind: 'CSIStorageCapacity',
}
export const STORAGE_CLASSES: Resource<StorageClass> = {
  ...STORAGE,
  ...CLUSTER,
  plural: 'storageclasses',
  kind: 'StorageClass',
}
export const VOLUME_ATTACHMENTS: Resource<VolumeAttachment> = {
  ...STORAGE,
  plural: 'volumeattachments',
  kind: 'VolumeAttachment',
  namespaced: false,
  subresources: STATUS,
}
export const VOLUME_ATTRIBUTES_CLASSES: Resource<VolumeAttributesClass> = {
  ...STORAGE,
  ...CLUSTER,
  plural: 'volumeattributesclasses',
  kind: 'VolumeAttributesClass',
}

export const VOLUME_SNAPSHOT_CLASSES: Resource<VolumeSnapshotClass> = {
  ...SNAPSHOT,
  ...CLUSTER,
  plural: 'volumesnapshotclasses',
  kind: 'VolumeSnapshotClass',
}
export const VOLUME_SNAPSHOTS: Resource<VolumeSnapshot> = {
  ...SNAPSHOT,
  plural: 'volumesnapshots',
  kind: 'VolumeSnapshot',
  namespaced: true,
  subresources: STATUS,
}
export const VOLUME_SNAPSHOT_CONTENTS: Resource<VolumeSnapshotContent> = {
  ...SNAPSHOT,
  plural: 'volumesnapshotcontents',
  kind: 'VolumeSnapshotContent',
  namespaced: false,
  subresources: STATUS,
}
export const VOLUME_GROUP_SNAPSHOT_CLASSES: Resource<VolumeSnapshotClass> = {
  ...GROUP_SNAPSHOT,
  ...CLUSTER,
  plural: 'volumegroupsnapshotclasses',
  kind: 'VolumeGroupSnapshotClass',
}
export const VOLUME_GROUP_SNAPSHOTS: Resource<VolumeGroupSnapshot> = {
  ...GROUP_SNAPSHOT,
  plural: 'volumegroupsnapshots',
  kind: 'VolumeGroupSnapshot',
  namespaced: true,
  subresources: STATUS,
}
export const VOLUME_GROUP_SNAPSHOT_CONTENTS: Resource<VolumeGroupSnapshotContent> = {
  ...GROUP_SNAPSHOT,
  plural: 'volumegroupsnapshotcontents',
  kind: 'VolumeGroupSnapshotContent',
  namespaced: false,
  subresources: STATUS,
}
/** The custom resources of snapshots: a cluster without the snapshot CRDs does not serve them. */
export const SNAPSHOT_RESOURCES: readonly Resource<unknown>[] = [
  VOLUME_SNAPSHOT_CLASSES,
  VOLUME_SNAPSHOTS,
  VOLUME_SNAPSHOT_CONTENTS,
]
/** The custom resources of group snapshots. A cluster installs their CRDs separately. */
export const GROUP_SNAPSHOT_RESOURCES: readonly Resource<unknown>[] = [
  VOLUME_GROUP_SNAPSHOT_CLASSES,
  VOLUME_GROUP_SNAPSHOTS,
  VOLUME_GROUP_SNAPSHOT_CONTENTS,
]

export const DAEMON_SETS: Resource<DaemonSet> = {
  ...APPS,
  plural: 'daemonsets',
  kind: 'DaemonSet',
  namespaced: true,
  subresources: STATUS,
}
export const DEPLOYMENTS: Resource<Deployment> = {
  ...APPS,
  plural: 'deployments',
  kind: 'Deployment',
  namespaced: true,
  subresources: STATUS,
}
export const STATEFUL_SETS: Resource<StatefulSet> = {
  ...APPS,
  plural: 'statefulsets',
  kind: 'StatefulSet',
  namespaced: true,
  subresources: STATUS,
}

/** Controllers of pods, which own pods and CSIStorageCapacity objects. */
export const WORKLOADS: readonly Resource<KubeObject>[] = [
  DAEMON_SETS,
  DEPLOYMENTS,
  { ...APPS, plural: 'replicasets', kind: 'ReplicaSet', namespaced: true, subresources: STATUS },
  STATEFUL_SETS,
]

export const LEASES: Resource<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  ...NAMESPACED,
  plural: 'leases',
  kind: 'Lease',
}

export const CLUSTER_ROLES: Resource<ClusterRole> = { ...RBAC, ...CLUSTER, plural: 'clusterroles', kind: 'ClusterRole' }
export const CLUSTER_ROLE_BINDINGS: Resource<ClusterRoleBinding> = {
  ...RBAC,
  ...CLUSTER,
  plural: 'clusterrolebindings',
  kind: 'ClusterRoleBinding',
}
export const ROLES: Resource<Role> = { ...RBAC, ...NAMESPACED, plural: 'roles', kind: 'Role' }
export const ROLE_BINDINGS: Resource<RoleBinding> = {
  ...RBAC,
  ...NAMESPACED,
  plural: 'rolebindings',
  kind: 'RoleBinding',
}

/** All resources of this file, for programs that serve all of them. */
export const RESOURCES: readonly Resource<unknown>[] = [
  CONFIG_MAPS,
  EVENTS,
  NAMESPACES,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  SECRETS,
  SERVICE_ACCOUNTS,
  CSI_DRIVERS,
  CSI_NODES,
  CSI_STORAGE_CAPACITIES,
  STORAGE_CLASSES,
  VOLUME_ATTACHMENTS,
  VOLUME_ATTRIBUTES_CLASSES,
  ...SNAPSHOT_RESOURCES,
  ...GROUP_SNAPSHOT_RESOURCES,
  ...WORKLOADS,
  LEASES,
  CLUSTER_ROLES,
  CLUSTER_ROLE_BINDINGS,
  ROLES,
  ROLE_BINDINGS,
]

/** Returns the `apiVersion` of the objects of a resource: `v1` or `group/version`. */
export function apiVersionOf(resource: Resource<unknown>): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`
}

/** A cached object: its key is `namespace/name` or the name alone. */
interface CachedObject {
  readonly key: string
  readonly uid: string
  readonly resourceVersion: string
}

/** Returns the reference to a cached object in an Event or in another object. */
export function referenceTo(
  resource: Resource<unknown>,
  { key, uid, resourceVersion }: CachedObject,
): ObjectRef & Omit<CachedObject, 'key'> & { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, ...refOf(key), uid, resourceVersion }
}

/** Returns the URL path of a request. Throws for a name that would lead to another path, such as an empty name. */
export function resourcePath(resource: Resource<unknown>, ref: PathRef): string {
  const segments = [resource.group === '' ? 'api' : 'apis', apiVersionOf(resource)]
  if (resource.namespaced && ref.namespace !== undefined)
    segments.push('namespaces', segment('namespace', ref.namespace))
  segments.push(resource.plural)
  if (ref.name !== undefined) segments.push(segment('name', ref.name))
  if (ref.subresource !== undefined) {
    if (ref.name === undefined) throw new Error('resource name may not be empty')
    segments.push(segment('subresource', ref.subresource))
  }
  return `/${segments.join('/')}`
}

function segment(field: string, text: string): string {
  if (text === '') throw new Error(`resource ${field} may not be empty`)
  if (text === '.' || text === '..') throw new Error(`invalid resource ${field} "${text}": [may not be '${text}']`)
  for (const separator of ['/', '%']) {
    if (text.includes(separator))
      throw new Error(`invalid resource ${field} "${text}": [may not contain '${separator}']`)
  }
  return encodeURIComponent(text)
}
