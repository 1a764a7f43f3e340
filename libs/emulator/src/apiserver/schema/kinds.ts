/** What is served: one row a kind. */
export interface Kind {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly singular: string
  readonly kind: string
  readonly namespaced: boolean
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  /** `status` alone can change the status. */
  readonly subresources: readonly string[]
  /** A PUT may create it. */
  readonly createOnUpdate: boolean
  /** A PUT need not say a resourceVersion. */
  readonly unconditionalUpdate: boolean
  /** DELETE answers the object, not a Status. */
  readonly returnsDeleted: boolean
  /** Where its generation begins, which counts changes of the spec; undefined for kinds that have none. */
  readonly firstGeneration: number | undefined
  /** Only POST: a review or an action, and no object is stored. */
  readonly reviewOnly: boolean
}

type Traits = Partial<Omit<Kind, 'group' | 'version' | 'plural' | 'kind' | 'singular'>>

const SERVED: Kind[] = []

/** A kind that is served, at a path as in a URL, without the group where it is the core's. */
function kind(path: string, name: string, traits: Traits = {}): Kind {
  const served = described(path, name, traits)
  SERVED.push(served)
  return served
}

function described(path: string, name: string, traits: Traits = {}): Kind {
  const [plural = '', version = '', group = ''] = path.split('/').reverse()
  return {
    group,
    version,
    plural,
    singular: name.toLowerCase(),
    kind: name,
    namespaced: false,
    shortNames: [],
    categories: [],
    subresources: [],
    createOnUpdate: false,
    unconditionalUpdate: true,
    returnsDeleted: false,
    firstGeneration: undefined,
    reviewOnly: false,
    ...traits,
  }
}

const STORAGE = 'storage.k8s.io/v1'
const RBAC = 'rbac.authorization.k8s.io/v1'
const ns: Traits = { namespaced: true }
const STATUS = ['status']
const kept: Traits = { returnsDeleted: true }

export const NODE = kind('v1/nodes', 'Node', { shortNames: ['no'], subresources: STATUS })
export const NAMESPACE = kind('v1/namespaces', 'Namespace', { ...kept, shortNames: ['ns'], subresources: STATUS })
export const POD = kind('v1/pods', 'Pod', {
  ...ns,
  ...kept,
  shortNames: ['po'],
  categories: ['all'],
  subresources: ['status', 'eviction'],
  firstGeneration: 1,
})
export const PERSISTENT_VOLUME_CLAIM = kind('v1/persistentvolumeclaims', 'PersistentVolumeClaim', {
  ...ns,
  ...kept,
  shortNames: ['pvc'],
  subresources: STATUS,
})
export const PERSISTENT_VOLUME = kind('v1/persistentvolumes', 'PersistentVolume', {
  ...kept,
  shortNames: ['pv'],
  subresources: STATUS,
})
/** What places a pod on a node. */
export const BINDING = kind('v1/bindings', 'Binding', { ...ns, reviewOnly: true })
export const SECRET = kind('v1/secrets', 'Secret', ns)
export const CONFIG_MAP = kind('v1/configmaps', 'ConfigMap', { ...ns, shortNames: ['cm'] })
export const SERVICE_ACCOUNT = kind('v1/serviceaccounts', 'ServiceAccount', {
  ...ns,
  ...kept,
  shortNames: ['sa'],
  subresources: ['token'],
})
export const SERVICE = kind('v1/services', 'Service', {
  ...ns,
  ...kept,
  shortNames: ['svc'],
  createOnUpdate: true,
  categories: ['all'],
  subresources: STATUS,
})
export const EVENT = kind('v1/events', 'Event', { ...ns, shortNames: ['ev'], createOnUpdate: true })
export const STORAGE_CLASS = kind(`${STORAGE}/storageclasses`, 'StorageClass', { ...kept, shortNames: ['sc'] })
export const VOLUME_ATTRIBUTES_CLASS = kind(`${STORAGE}/volumeattributesclasses`, 'VolumeAttributesClass', {
  ...kept,
  shortNames: ['vac'],
})
export const VOLUME_ATTACHMENT = kind(`${STORAGE}/volumeattachments`, 'VolumeAttachment', {
  ...kept,
  subresources: STATUS,
  unconditionalUpdate: false,
})
export const CSI_NODE = kind(`${STORAGE}/csinodes`, 'CSINode', { ...kept, unconditionalUpdate: false })
export const CSI_DRIVER = kind(`${STORAGE}/csidrivers`, 'CSIDriver', {
  ...kept,
  unconditionalUpdate: false,
  firstGeneration: 0,
})
export const CSI_STORAGE_CAPACITY = kind(`${STORAGE}/csistoragecapacities`, 'CSIStorageCapacity', {
  ...ns,
  unconditionalUpdate: false,
})
/** Workloads are stored as they are: no controller of this server creates their pods. */
const workload: Traits = { ...ns, categories: ['all'], subresources: STATUS, firstGeneration: 1 }
const scalable: Traits = { ...workload, subresources: ['status', 'scale'] }
export const DAEMON_SET = kind('apps/v1/daemonsets', 'DaemonSet', { ...workload, shortNames: ['ds'] })
export const DEPLOYMENT = kind('apps/v1/deployments', 'Deployment', { ...scalable, shortNames: ['deploy'] })
export const REPLICA_SET = kind('apps/v1/replicasets', 'ReplicaSet', { ...scalable, shortNames: ['rs'] })
export const STATEFUL_SET = kind('apps/v1/statefulsets', 'StatefulSet', { ...scalable, shortNames: ['sts'] })
export const NETWORK_POLICY = kind('networking.k8s.io/v1/networkpolicies', 'NetworkPolicy', {
  ...ns,
  shortNames: ['netpol'],
  firstGeneration: 1,
})
export const PRIORITY_CLASS = kind('scheduling.k8s.io/v1/priorityclasses', 'PriorityClass', {
  shortNames: ['pc'],
  firstGeneration: 1,
})
export const POD_DISRUPTION_BUDGET = kind('policy/v1/poddisruptionbudgets', 'PodDisruptionBudget', {
  ...ns,
  shortNames: ['pdb'],
  subresources: STATUS,
  unconditionalUpdate: false,
  firstGeneration: 1,
})
export const LEASE = kind('coordination.k8s.io/v1/leases', 'Lease', {
  ...ns,
  createOnUpdate: true,
  unconditionalUpdate: false,
})
export const ROLE = kind(`${RBAC}/roles`, 'Role', { ...ns, createOnUpdate: true })
export const ROLE_BINDING = kind(`${RBAC}/rolebindings`, 'RoleBinding', { ...ns, createOnUpdate: true })
export const CLUSTER_ROLE = kind(`${RBAC}/clusterroles`, 'ClusterRole', { createOnUpdate: true })
export const CLUSTER_ROLE_BINDING = kind(`${RBAC}/clusterrolebindings`, 'ClusterRoleBinding', { createOnUpdate: true })
export const TOKEN_REVIEW = kind('authentication.k8s.io/v1/tokenreviews', 'TokenReview', { reviewOnly: true })
kind('authorization.k8s.io/v1/subjectaccessreviews', 'SubjectAccessReview', {
  reviewOnly: true,
})

export const SELF_SUBJECT_REVIEW = kind('authentication.k8s.io/v1/selfsubjectreviews', 'SelfSubjectReview', {
  reviewOnly: true,
})
export const SELF_SUBJECT_ACCESS_REVIEW = kind(
  'authorization.k8s.io/v1/selfsubjectaccessreviews',
  'SelfSubjectAccessReview',
  { reviewOnly: true },
)

/** How many pods a workload wants; only a subresource of others. */
export const SCALE = described('autoscaling/v1/scales', 'Scale', ns)

/** By group, then by plural. */
export const KINDS: readonly Kind[] = SERVED.sort((a, b) => (pathOf(a) < pathOf(b) ? -1 : 1))

function pathOf({ group, plural }: Kind): string {
  return `${group}/${plural}`
}

const BY_PATH = new Map(KINDS.map((each) => [`${each.group}/${each.version}/${each.plural}`, each]))
const BY_PLURAL = new Map(KINDS.map((each) => [pathOf(each), each]))

export function kindAt(group: string, version: string, plural: string): Kind | undefined {
  return BY_PATH.get(`${group}/${version}/${plural}`)
}

/** By what a caller inside the process knows of a kind; versions do not matter there. */
export function kindNamed(resource: { readonly group: string; readonly plural: string }): Kind {
  const found = BY_PLURAL.get(`${resource.group}/${resource.plural}`)
  if (found === undefined) throw new RangeError(`the emulator does not serve ${resource.group}/${resource.plural}`)
  return found
}

export function hasStatus(kind: Kind): boolean {
  return kind.subresources.includes('status')
}

export function groupVersionOf(of: Pick<Kind, 'group' | 'version'>): string {
  return of.group === '' ? of.version : `${of.group}/${of.version}`
}
