import type {
  CSIDriver,
  CSINode,
  Event,
  Lease,
  Node,
  ObjectMeta,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
  VolumeAttachment,
  VolumeAttributesClass,
} from '@csi-sidecars/kube-types'

/** What is wrong with a value at a path, as `.spec.volumes is no list`; undefined: it is as expected. */
type Check = (value: unknown, path: string) => string | undefined

/**
 * The fields that this command reads, of each kind. What is absent is fine unless it is required. All else relies on
 * this, so that one object that is not understood spoils no answer about others.
 */
const ofType =
  (word: string, ...types: readonly string[]): Check =>
  (value, path) =>
    types.includes(typeof value) ? undefined : `${path} is no ${word}`

const text = ofType('text', 'string')
const number = ofType('number', 'number', 'bigint')
const flag = ofType('boolean', 'boolean')

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const list =
  (of: Check): Check =>
  (value, path) =>
    Array.isArray(value) ? firstOf(value.map((each, at) => [of, each, `${path}[${at}]`])) : `${path} is no list`

const map =
  (of: Check): Check =>
  (value, path) =>
    isObject(value)
      ? firstOf(Object.entries(value).map(([key, each]) => [of, each, `${path}.${key}`]))
      : `${path} is no object`

function fields<T>(
  known: { readonly [K in keyof NonNullable<T>]?: Check },
  ...required: readonly (keyof NonNullable<T> & string)[]
): Check {
  const checks = Object.entries<Check | undefined>(known)
  return (value, path) => {
    if (!isObject(value)) return `${path || 'it'} is no object`
    const missing = required.find((key) => value[key] === undefined)
    if (missing !== undefined) return `${path}.${missing} is missing`
    return firstOf(
      checks.flatMap(([key, check]) =>
        check === undefined || value[key] === undefined ? [] : [[check, value[key], `${path}.${key}`] as const],
      ),
    )
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
const metadata = fields<ObjectMeta>(
  {
    name: text,
    namespace: text,
    uid: text,
    creationTimestamp: text,
    deletionTimestamp: text,
    finalizers: list(text),
    annotations: map(text),
  },
  'name',
)

type Of<T, K extends keyof NonNullable<T>> = NonNullable<NonNullable<T>[K]>
type Item<T> = T extends readonly (infer Each)[] ? Each : never

const condition = { type: text, status: text, lastTransitionTime: text, message: text } as const

const pod = fields<Pod>(
  {
    metadata,
    spec: fields<Pod['spec']>({
      nodeName: text,
      volumes: list(
        fields<Item<Of<Pod['spec'], 'volumes'>>>({
          name: text,
          persistentVolumeClaim: fields<{ claimName: string }>({ claimName: text }, 'claimName'),
          ephemeral: anyObject,
        }),
      ),
      containers: list(
        fields<Item<Of<Pod['spec'], 'containers'>>>({
          name: text,
          image: text,
          args: list(text),
          command: list(text),
        }),
      ),
    }),
    status: fields<Pod['status']>({
      phase: text,
      conditions: list(fields<Item<Of<Pod['status'], 'conditions'>>>(condition)),
      containerStatuses: list(
        fields<Item<Of<Pod['status'], 'containerStatuses'>>>({ name: text, ready: flag, state: map(anyObject) }),
      ),
    }),
  },
  'metadata',
)

const claim = fields<PersistentVolumeClaim>(
  {
    metadata,
    spec: fields<PersistentVolumeClaim['spec']>({
      storageClassName: text,
      volumeName: text,
      volumeAttributesClassName: text,
      resources: fields<Of<PersistentVolumeClaim['spec'], 'resources'>>({ requests: map(text) }),
    }),
    status: fields<PersistentVolumeClaim['status']>({
      phase: text,
      capacity: map(text),
      allocatedResources: map(text),
      allocatedResourceStatuses: map(text),
      conditions: list(fields<Item<Of<PersistentVolumeClaim['status'], 'conditions'>>>(condition)),
      currentVolumeAttributesClassName: text,
      modifyVolumeStatus: fields<Of<PersistentVolumeClaim['status'], 'modifyVolumeStatus'>>({
        status: text,
        targetVolumeAttributesClassName: text,
      }),
    }),
  },
  'metadata',
)

const volume = fields<PersistentVolume>(
  {
    metadata,
    spec: fields<PersistentVolume['spec']>({
      accessModes: list(text),
      persistentVolumeReclaimPolicy: text,
      claimRef: fields<Of<PersistentVolume['spec'], 'claimRef'>>({ namespace: text, name: text }),
      csi: fields<Of<PersistentVolume['spec'], 'csi'>>({ driver: text, volumeHandle: text }),
    }),
    status: fields<PersistentVolume['status']>({ phase: text, message: text, lastPhaseTransitionTime: text }),
  },
  'metadata',
)

const failure = fields<{ message: string; time: string }>({ message: text, time: text })

const attachment = fields<VolumeAttachment>(
  {
    metadata,
    spec: fields<VolumeAttachment['spec']>(
      {
        attacher: text,
        nodeName: text,
        source: fields<Of<VolumeAttachment['spec'], 'source'>>({ persistentVolumeName: text }),
      },
      'source',
    ),
    status: fields<VolumeAttachment['status']>({ attached: flag, attachError: failure, detachError: failure }),
  },
  'metadata',
  'spec',
)

const csiNode = fields<CSINode>(
  {
    metadata,
    spec: fields<CSINode['spec']>({
      drivers: list(
        fields<Item<CSINode['spec']['drivers']>>({
          name: text,
          allocatable: fields<{ count: number }>({ count: number }),
        }),
      ),
    }),
  },
  'metadata',
  'spec',
)

const node = fields<Node>(
  {
    metadata,
    status: fields<Node['status']>({
      conditions: list(fields<Item<Of<Node['status'], 'conditions'>>>({ ...condition, reason: text })),
      volumesAttached: list(fields<Item<Of<Node['status'], 'volumesAttached'>>>({ name: text })),
      volumesInUse: list(text),
    }),
  },
  'metadata',
)

const lease = fields<Lease>(
  {
    metadata,
    spec: fields<Lease['spec']>({ holderIdentity: text, renewTime: text, leaseDurationSeconds: number }),
  },
  'metadata',
)

const event = fields<Event>(
  {
    metadata,
    involvedObject: fields<Event['involvedObject']>({ kind: text, namespace: text, name: text, uid: text }),
    reason: text,
    message: text,
    firstTimestamp: text,
    lastTimestamp: text,
    eventTime: text,
    count: number,
  },
  'metadata',
  'involvedObject',
)

const CHECKS: Readonly<Record<string, Check>> = {
  pods: pod,
  persistentvolumeclaims: claim,
  persistentvolumes: volume,
  volumeattachments: attachment,
  csinodes: csiNode,
  nodes: node,
  csidrivers: fields<CSIDriver>(
    { metadata, spec: fields<CSIDriver['spec']>({ attachRequired: flag }) },
    'metadata',
    'spec',
  ),
  storageclasses: fields<StorageClass>({ metadata, provisioner: text, volumeBindingMode: text }, 'metadata'),
  volumeattributesclasses: fields<VolumeAttributesClass>({ metadata, driverName: text }, 'metadata'),
  leases: lease,
  events: event,
}

/** Why an object of a kind is not understood; undefined where it is. */
export function notUnderstood(plural: string, object: unknown): string | undefined {
  const check = CHECKS[plural]
  if (check === undefined) throw new Error(`no fields are known of ${plural}`)
  return check(object, '')
}

/** In JSON of the API null says as much as nothing: an empty list, a time that is not set. */
export function withoutNulls<T>(value: T): T
export function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.filter((each) => each !== null).map(withoutNulls)
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, each]) => (each === null ? [] : [[key, withoutNulls(each)]])),
  )
}
