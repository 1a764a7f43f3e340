import type { Lookup, Lookups } from '../caches/caches.ts'
import type { Claim } from '../caches/claim.ts'
import type { CachedNode } from '../caches/node.ts'
import type { CachedPod } from '../caches/pod.ts'
import type { CachedContent, CachedSnapshot } from '../caches/snapshot.ts'
import type { Attachment, CachedClass, CachedDriver } from '../caches/storage.ts'
import type { ClaimRef, Volume } from '../caches/volume.ts'

/** Cached objects for tests. The argument of each function replaces default values. */

export const DRIVER = 'csi.example.com'

export function claim(change: Partial<Claim> = {}): Claim {
  const name = change.name ?? 'data'
  return {
    key: `default/${name}`,
    resourceVersion: '1',
    uid: `uid-${name}`,
    namespace: 'default',
    name,
    deleting: false,
    ownerUid: undefined,
    ownerPod: undefined,
    finalizers: ['kubernetes.io/pvc-protection'],
    annotations: {},
    className: 'fast',
    volumeName: '',
    accessModes: ['ReadWriteOnce'],
    volumeMode: 'Filesystem',
    request: '1Gi',
    selector: undefined,
    attributesClass: '',
    phase: 'Pending',
    statusModes: undefined,
    capacity: undefined,
    currentAttributesClass: undefined,
    resizeStatus: undefined,
    allocated: undefined,
    unused: undefined,
    ...change,
  }
}

/** A volume that is not bound. */
export function volume(change: Partial<Volume> = {}): Volume {
  const key = change.key ?? 'pv-1'
  return {
    key,
    resourceVersion: '1',
    uid: `uid-${key}`,
    deleting: false,
    finalizers: ['kubernetes.io/pv-protection'],
    labels: {},
    annotations: {},
    claimRef: undefined,
    capacity: '1Gi',
    accessModes: ['ReadWriteOnce'],
    volumeMode: 'Filesystem',
    className: 'fast',
    attributesClass: '',
    reclaimPolicy: 'Delete',
    required: undefined,
    mountOptions: [],
    csi: { driver: DRIVER, volumeHandle: `handle-${key}` },
    migrated: undefined,
    phase: 'Available',
    ...change,
  }
}

/** A volume's reference to the claim that it is bound to. */
export function refTo({ namespace, name, uid }: Claim): ClaimRef {
  return { namespace, name, uid }
}

/** The `claimRef` of a volume that a user has reserved: it names the claim without a UID. */
export function reservedFor({ namespace, name }: Claim): ClaimRef {
  return { namespace, name, uid: undefined }
}

/** A claim and a volume that are bound to each other. */
export function boundPair(change: { readonly claim?: Partial<Claim>; readonly volume?: Partial<Volume> } = {}): {
  readonly claim: Claim
  readonly volume: Volume
} {
  const boundClaim = claim({
    volumeName: change.volume?.key ?? 'pv-1',
    phase: 'Bound',
    capacity: '1Gi',
    statusModes: ['ReadWriteOnce'],
    annotations: { 'pv.kubernetes.io/bind-completed': 'yes', 'pv.kubernetes.io/bound-by-controller': 'yes' },
    ...change.claim,
  })
  return { claim: boundClaim, volume: volume({ claimRef: refTo(boundClaim), phase: 'Bound', ...change.volume }) }
}

/** A pod on node-1 whose one container mounts the claim `data`. */
export function pod(change: Partial<CachedPod> = {}): CachedPod {
  const name = change.name ?? 'app'
  const namespace = change.namespace ?? 'default'
  return {
    key: `${namespace}/${name}`,
    resourceVersion: '1',
    uid: `uid-${name}`,
    namespace,
    name,
    nodeName: 'node-1',
    schedulerName: 'default-scheduler',
    deleting: false,
    phase: 'Pending',
    containers: [{ name: 'main', image: 'none' }],
    containersRun: false,
    volumes: [{ kind: 'claim', name: 'data', claim: 'data', readOnly: false, ephemeral: false }],
    use: { mounts: new Set(['data']), devices: new Set() },
    nodeSelector: {},
    tolerations: [],
    serviceAccount: 'default',
    fsGroup: undefined,
    ...change,
  }
}

export function node(change: Partial<CachedNode> = {}): CachedNode {
  const key = change.key ?? 'node-1'
  return {
    key,
    resourceVersion: '1',
    uid: `uid-${key}`,
    labels: { 'kubernetes.io/hostname': key },
    managed: true,
    ready: true,
    unschedulable: false,
    taints: [],
    volumesAttached: [],
    volumesInUse: [],
    ...change,
  }
}

export function attachment(change: Partial<Attachment> = {}): Attachment {
  const key = change.key ?? 'va-1'
  return {
    key,
    resourceVersion: '1',
    uid: `uid-${key}`,
    attacher: DRIVER,
    nodeName: 'node-1',
    pvName: 'pv-1',
    deleting: false,
    attached: false,
    attachError: undefined,
    detachError: undefined,
    ...change,
  }
}

const UNREADY = { readyToUse: false, creationTime: undefined, restoreSize: undefined, error: undefined }

/** A VolumeSnapshot of the claim `data`. */
export function snapshot(change: Partial<CachedSnapshot> = {}): CachedSnapshot {
  return {
    key: 'default/backup',
    resourceVersion: '1',
    uid: 'uid-backup',
    namespace: 'default',
    name: 'backup',
    deleting: false,
    finalizers: ['snapshot.storage.kubernetes.io/volumesnapshot-bound-protection'],
    claim: 'data',
    className: 'fast',
    contentName: '',
    ...UNREADY,
    ...change,
  }
}

/** The VolumeSnapshotContent of the default `snapshot()`. */
export function content(change: Partial<CachedContent> = {}): CachedContent {
  return {
    key: 'snapcontent-uid-backup',
    resourceVersion: '1',
    uid: 'uid-content',
    snapshot: 'default/backup',
    deleting: false,
    policy: 'Delete',
    ...UNREADY,
    ...change,
  }
}

export function storageClass(change: Partial<CachedClass> = {}): CachedClass {
  const key = change.key ?? 'fast'
  return {
    key,
    resourceVersion: '1',
    uid: `uid-${key}`,
    provisioner: DRIVER,
    waitsForConsumer: false,
    allowedTopologies: undefined,
    isDefault: false,
    created: '',
    ...change,
  }
}

export function csiDriver(change: Partial<CachedDriver> = {}): CachedDriver {
  const key = change.key ?? DRIVER
  return {
    key,
    resourceVersion: '1',
    uid: `uid-${key}`,
    attachRequired: true,
    podInfoOnMount: false,
    lifecycleModes: ['Persistent', 'Ephemeral'],
    requiresRepublish: false,
    fsGroupPolicy: 'ReadWriteOnceWithFSType',
    ...change,
  }
}

/** Returns caches that contain only these objects. */
export function lookups({
  claims = [],
  volumes = [],
  drivers = [],
}: {
  readonly claims?: readonly Claim[]
  readonly volumes?: readonly Volume[]
  readonly drivers?: readonly CachedDriver[]
}): Lookups {
  return { claims: lookup(claims), volumes: lookup(volumes), drivers: lookup(drivers) }
}

function lookup<T extends { readonly key: string }>(objects: readonly T[]): Lookup<T> {
  const byKey = new Map(objects.map((object) => [object.key, object]))
  return { store: { get: (key) => byKey.get(key) } }
}
