import {
  type ClusterRole,
  type ClusterRoleBinding,
  type CSIDriver,
  type CSINode,
  type DaemonSet,
  type Deployment,
  type Event,
  isJsonObject,
  type Lease,
  type Node,
  type ObjectMeta,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type Role,
  type RoleBinding,
  type StatefulSet,
  type StorageClass,
  type VolumeAttachment,
  type VolumeAttributesClass,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
} from '@csi-sidecars/kube-types'

/** Returns the problem of a value at a path, such as `.spec.volumes is no list`. Undefined if there is none. */
type Check = (value: unknown, path: string) => string | undefined

const ofType =
  (word: string, ...types: readonly string[]): Check =>
  (value, path) =>
    types.includes(typeof value) ? undefined : `${path} is no ${word}`

const text = ofType('text', 'string')
const number = ofType('number', 'number', 'bigint')
const flag = ofType('boolean', 'boolean')
const textOrNumber = ofType('quantity', 'string', 'number')

const map =
  (of: Check): Check =>
  (value, path) =>
    isJsonObject(value)
      ? firstOf(Object.entries(value).map(([key, each]) => [of, each, `${path}.${key}`]))
      : `${path} is no object`

/** The expected shape of a value. In an object, the names of required fields end in `!`. */
type Shape<T> =
  | Check
  | (T extends readonly (infer Item)[]
      ? readonly [Shape<Item>]
      : T extends object
        ? { readonly [K in keyof T & string as K | `${K}!`]?: Shape<NonNullable<T[K]>> }
        : never)

function shape<T>(expected: Shape<T>): Check {
  return checkOf(expected)
}

function checkOf(expected: unknown): Check {
  if (typeof expected === 'function') return expected as Check
  if (!Array.isArray(expected)) return fields(Object(expected))
  const of = checkOf(expected[0])
  return (value, path) =>
    Array.isArray(value) ? firstOf(value.map((each, at) => [of, each, `${path}[${at}]`])) : `${path} is no list`
}

function fields(shapes: Readonly<Record<string, unknown>>): Check {
  const checks = Object.entries(shapes).map(([key, each]) => [key.replace('!', ''), checkOf(each)] as const)
  const required = Object.keys(shapes).flatMap((key) => (key.endsWith('!') ? [key.slice(0, -1)] : []))
  return (value, path) => {
    if (!isJsonObject(value)) return `${path || 'it'} is no object`
    const missing = required.find((key) => value[key] === undefined)
    if (missing !== undefined) return `${path}.${missing} is missing`
    const present = checks.filter(([key]) => value[key] !== undefined)
    return firstOf(present.map(([key, check]) => [check, value[key], `${path}.${key}`]))
  }
}

function firstOf(checks: readonly (readonly [Check, unknown, string])[]): string | undefined {
  for (const [check, value, path] of checks) {
    const wrong = check(value, path)
    if (wrong !== undefined) return wrong
  }
  return undefined
}

const anyObject = map(() => undefined)
const metadata = shape<ObjectMeta>({
  'name!': text,
  namespace: text,
  uid: text,
  creationTimestamp: text,
  deletionTimestamp: text,
  finalizers: [text],
  annotations: map(text),
})
const condition = { type: text, status: text, lastTransitionTime: text, message: text } as const
const failure = { message: text, time: text } as const

const securityContext = {
  runAsUser: number,
  runAsNonRoot: flag,
  seLinuxOptions: { type: text },
} as const
const container = {
  'name!': text,
  image: text,
  command: [text],
  args: [text],
  env: [{ 'name!': text, value: text, valueFrom: anyObject }],
  envFrom: [anyObject],
  ports: [anyObject],
  volumeMounts: [{ 'name!': text, 'mountPath!': text, subPath: text }],
  resources: { limits: map(textOrNumber), requests: map(textOrNumber) },
  securityContext: { ...securityContext, privileged: flag },
  restartPolicy: text,
} as const
const podTemplate = {
  'spec!': {
    'containers!': [container],
    initContainers: [container],
    serviceAccountName: text,
    serviceAccount: text,
    securityContext,
  },
} as const
const workload = {
  'metadata!': shape<ObjectMeta>({
    'name!': text,
    namespace: text,
    uid: text,
    generation: number,
    labels: map(text),
    annotations: map(text),
    ownerReferences: [{ kind: text, name: text, controller: flag }],
  }),
  'spec!': { 'template!': podTemplate },
} as const
const rules = [{ apiGroups: [text], resources: [text], verbs: [text], resourceNames: [text] }] as const
const binding = {
  'metadata!': metadata,
  'roleRef!': { kind: text, name: text },
  subjects: [{ kind: text, name: text, namespace: text }],
} as const

/**
 * The expected shapes of the fields that this command reads, by kind. A missing field is accepted unless required. An
 * object that fails its check is left out, so that it cannot break the answers about other objects.
 */
const CHECKS: Readonly<Record<string, Check>> = {
  pods: shape<Pod>({
    'metadata!': metadata,
    spec: {
      nodeName: text,
      volumes: [{ name: text, persistentVolumeClaim: { 'claimName!': text }, ephemeral: anyObject }],
      containers: [{ name: text, image: text, args: [text], command: [text] }],
    },
    status: {
      phase: text,
      conditions: [condition],
      containerStatuses: [{ name: text, ready: flag, state: map(anyObject) }],
    },
  }),
  persistentvolumeclaims: shape<PersistentVolumeClaim>({
    'metadata!': metadata,
    spec: {
      storageClassName: text,
      volumeName: text,
      volumeAttributesClassName: text,
      resources: { requests: map(text) },
      dataSource: { kind: text, name: text },
      dataSourceRef: { kind: text, name: text, namespace: text },
    },
    status: {
      phase: text,
      capacity: map(text),
      allocatedResources: map(text),
      allocatedResourceStatuses: map(text),
      conditions: [condition],
      currentVolumeAttributesClassName: text,
      modifyVolumeStatus: { status: text, targetVolumeAttributesClassName: text },
    },
  }),
  persistentvolumes: shape<PersistentVolume>({
    'metadata!': metadata,
    spec: {
      accessModes: [text],
      persistentVolumeReclaimPolicy: text,
      claimRef: { namespace: text, name: text },
      csi: { driver: text, volumeHandle: text },
    },
    status: { phase: text, message: text, lastPhaseTransitionTime: text },
  }),
  volumeattachments: shape<VolumeAttachment>({
    'metadata!': metadata,
    'spec!': { attacher: text, nodeName: text, 'source!': { persistentVolumeName: text } },
    status: { attached: flag, attachError: failure, detachError: failure },
  }),
  csinodes: shape<CSINode>({
    'metadata!': metadata,
    'spec!': { drivers: [{ name: text, allocatable: { count: number } }] },
  }),
  nodes: shape<Node>({
    'metadata!': metadata,
    status: {
      conditions: [{ ...condition, reason: text }],
      volumesAttached: [{ name: text }],
      volumesInUse: [text],
    },
  }),
  csidrivers: shape<CSIDriver>({ 'metadata!': metadata, 'spec!': { attachRequired: flag } }),
  storageclasses: shape<StorageClass>({
    'metadata!': metadata,
    provisioner: text,
    volumeBindingMode: text,
    parameters: map(text),
  }),
  volumeattributesclasses: shape<VolumeAttributesClass>({ 'metadata!': metadata, driverName: text }),
  volumesnapshots: shape<VolumeSnapshot>({
    'metadata!': metadata,
    'spec!': {
      'source!': { persistentVolumeClaimName: text, volumeSnapshotContentName: text },
      volumeSnapshotClassName: text,
    },
    status: { boundVolumeSnapshotContentName: text, readyToUse: flag, error: failure },
  }),
  volumesnapshotcontents: shape<VolumeSnapshotContent>({
    'metadata!': metadata,
    'spec!': {
      'driver!': text,
      deletionPolicy: text,
      volumeSnapshotClassName: text,
      'volumeSnapshotRef!': { namespace: text, name: text },
    },
    status: { snapshotHandle: text, readyToUse: flag, error: failure },
  }),
  volumesnapshotclasses: shape<VolumeSnapshotClass>({ 'metadata!': metadata, driver: text, parameters: map(text) }),
  deployments: shape<Deployment>(workload),
  statefulsets: shape<StatefulSet>(workload),
  daemonsets: shape<DaemonSet>(workload),
  roles: shape<Role>({ 'metadata!': metadata, rules }),
  clusterroles: shape<ClusterRole>({ 'metadata!': metadata, rules }),
  rolebindings: shape<RoleBinding>(binding),
  clusterrolebindings: shape<ClusterRoleBinding>(binding),
  leases: shape<Lease>({
    'metadata!': metadata,
    spec: { holderIdentity: text, renewTime: text, leaseDurationSeconds: number },
  }),
  events: shape<Event>({
    'metadata!': metadata,
    'involvedObject!': { kind: text, namespace: text, name: text, uid: text },
    reason: text,
    message: text,
    firstTimestamp: text,
    lastTimestamp: text,
    eventTime: text,
    count: number,
  }),
}

/** Returns why the shape of an object is unexpected. Undefined if the shape is as expected. */
export function notUnderstood(plural: string, object: unknown): string | undefined {
  const check = CHECKS[plural]
  if (check === undefined) throw new Error(`no fields are known of ${plural}`)
  return check(object, '')
}

/** Removes nulls. In JSON of the API, null means the same as a missing field. */
export function withoutNulls<T>(value: T): T
export function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.filter((each) => each !== null).map(withoutNulls)
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, each]) => (each === null ? [] : [[key, withoutNulls(each)]])),
  )
}
