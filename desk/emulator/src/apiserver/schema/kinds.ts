import { invariant } from '@csi-sidecars/base'

/** A kind that the server implements. */
export interface ServedKind {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly singular: string
  readonly kind: string
  readonly namespaced: boolean
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  /** The names of the subresources. With `status`, only the status subresource can change the status of an object. */
  readonly subresources: readonly string[]
  /** True if a PUT may create an object. */
  readonly createOnUpdate: boolean
  /** True if a PUT may omit the `resourceVersion`. */
  readonly unconditionalUpdate: boolean
  /** True if a DELETE returns the object instead of a Status. */
  readonly returnsDeleted: boolean
  /** The generation of a new object. Undefined if objects of the kind have no generation. */
  readonly firstGeneration: number | undefined
  /** True for the kind of a CRD. Its objects have no protobuf form, and refuse strategic merge patches. */
  readonly custom: boolean
  /** True if the kind supports only POST, such as SubjectAccessReview. Its objects are not stored. */
  readonly reviewOnly: boolean
}

/**
 * The served kinds, one row each: the path as in a URL, the name of the kind, and its properties. The path of a kind of
 * the core group begins with the version. The properties:
 *
 *     short:po       a short name
 *     /status        a subresource
 *     namespaced     its objects have a namespace
 *     all            it belongs to the category `all`
 *     upsert         createOnUpdate
 *     versioned      no unconditionalUpdate
 *     returned       returnsDeleted
 *     generation:1   firstGeneration
 *     review         reviewOnly
 *     custom         custom
 */
const ROWS = `
v1/nodes Node short:no /status
v1/namespaces Namespace short:ns /status returned
v1/pods Pod short:po /status namespaced all returned generation:1
v1/persistentvolumeclaims PersistentVolumeClaim short:pvc /status namespaced returned
v1/persistentvolumes PersistentVolume short:pv /status returned
v1/bindings Binding namespaced review
v1/secrets Secret namespaced
v1/configmaps ConfigMap short:cm namespaced
v1/serviceaccounts ServiceAccount short:sa /token namespaced returned
v1/events Event short:ev namespaced upsert
storage.k8s.io/v1/storageclasses StorageClass short:sc returned
storage.k8s.io/v1/volumeattributesclasses VolumeAttributesClass short:vac returned
storage.k8s.io/v1/volumeattachments VolumeAttachment /status returned versioned
storage.k8s.io/v1/csinodes CSINode returned versioned
storage.k8s.io/v1/csidrivers CSIDriver returned versioned generation:0
storage.k8s.io/v1/csistoragecapacities CSIStorageCapacity namespaced versioned
snapshot.storage.k8s.io/v1/volumesnapshotclasses VolumeSnapshotClass short:vsclass short:vsclasses custom versioned generation:1
snapshot.storage.k8s.io/v1/volumesnapshots VolumeSnapshot short:vs /status namespaced custom versioned generation:1
snapshot.storage.k8s.io/v1/volumesnapshotcontents VolumeSnapshotContent short:vsc short:vscs /status custom versioned generation:1
groupsnapshot.storage.k8s.io/v1/volumegroupsnapshotclasses VolumeGroupSnapshotClass short:vgsclass short:vgsclasses custom versioned generation:1
groupsnapshot.storage.k8s.io/v1/volumegroupsnapshots VolumeGroupSnapshot short:vgs /status namespaced custom versioned generation:1
groupsnapshot.storage.k8s.io/v1/volumegroupsnapshotcontents VolumeGroupSnapshotContent short:vgsc short:vgscs /status custom versioned generation:1
apps/v1/daemonsets DaemonSet short:ds namespaced generation:1
apps/v1/deployments Deployment short:deploy namespaced generation:1
apps/v1/replicasets ReplicaSet short:rs namespaced generation:1
apps/v1/statefulsets StatefulSet short:sts namespaced generation:1
coordination.k8s.io/v1/leases Lease namespaced upsert versioned
rbac.authorization.k8s.io/v1/roles Role namespaced upsert
rbac.authorization.k8s.io/v1/rolebindings RoleBinding namespaced upsert
rbac.authorization.k8s.io/v1/clusterroles ClusterRole upsert
rbac.authorization.k8s.io/v1/clusterrolebindings ClusterRoleBinding upsert
authentication.k8s.io/v1/tokenreviews TokenReview review
authentication.k8s.io/v1/selfsubjectreviews SelfSubjectReview review
authorization.k8s.io/v1/subjectaccessreviews SubjectAccessReview review
authorization.k8s.io/v1/selfsubjectaccessreviews SelfSubjectAccessReview review
`

function kindIn(row: string): ServedKind {
  const [path = '', kind = '', ...options] = row.split(' ')
  const [plural = '', version = '', group = ''] = path.split('/').reverse()
  const after = (prefix: string): string[] =>
    options.filter((word) => word.startsWith(prefix)).map((word) => word.slice(prefix.length))
  const [firstGeneration] = after('generation:').map(Number)
  return {
    group,
    version,
    plural,
    singular: kind.toLowerCase(),
    kind,
    namespaced: options.includes('namespaced'),
    shortNames: after('short:'),
    categories: options.includes('all') ? ['all'] : [],
    subresources: after('/'),
    createOnUpdate: options.includes('upsert'),
    unconditionalUpdate: !options.includes('versioned'),
    returnsDeleted: options.includes('returned'),
    firstGeneration,
    custom: options.includes('custom'),
    reviewOnly: options.includes('review'),
  }
}

/** All kinds, sorted by group and plural. */
export const KINDS: readonly ServedKind[] = ROWS.trim()
  .split('\n')
  .map(kindIn)
  .sort((a, b) => (pathOf(a) < pathOf(b) ? -1 : 1))

export const NODE = served('Node')
export const NAMESPACE = served('Namespace')
export const POD = served('Pod')
export const PERSISTENT_VOLUME_CLAIM = served('PersistentVolumeClaim')
export const PERSISTENT_VOLUME = served('PersistentVolume')
export const BINDING = served('Binding')
export const CONFIG_MAP = served('ConfigMap')
export const EVENT = served('Event')
export const STORAGE_CLASS = served('StorageClass')
export const ROLE = served('Role')
export const ROLE_BINDING = served('RoleBinding')
export const CLUSTER_ROLE = served('ClusterRole')
export const CLUSTER_ROLE_BINDING = served('ClusterRoleBinding')
export const TOKEN_REVIEW = served('TokenReview')
export const SELF_SUBJECT_REVIEW = served('SelfSubjectReview')
export const SELF_SUBJECT_ACCESS_REVIEW = served('SelfSubjectAccessReview')

function served(name: string): ServedKind {
  const found = KINDS.find(({ kind }) => kind === name)
  invariant(found !== undefined, `no kind ${name}`)
  return found
}

function pathOf({ group, plural }: Pick<ServedKind, 'group' | 'plural'>): string {
  return `${group}/${plural}`
}

const BY_PATH = new Map(KINDS.map((each) => [pathOf(each), each]))

export function kindAt(group: string, version: string, plural: string): ServedKind | undefined {
  const found = BY_PATH.get(pathOf({ group, plural }))
  return found?.version === version ? found : undefined
}

/** Returns the kind of a group and a plural. Throws a RangeError if the server does not know it. */
export function kindNamed(resource: { readonly group: string; readonly plural: string }): ServedKind {
  const found = BY_PATH.get(pathOf(resource))
  if (found === undefined) throw new RangeError(`the emulator does not serve ${pathOf(resource)}`)
  return found
}

export function hasStatus(kind: ServedKind): boolean {
  return kind.subresources.includes('status')
}

export function groupVersionOf(of: Pick<ServedKind, 'group' | 'version'>): string {
  return of.group === '' ? of.version : `${of.group}/${of.version}`
}
