import { PERSISTENT_VOLUME_CLAIMS, type PersistentVolumeClaim, VOLUME_SNAPSHOTS } from '@csi-sidecars/kube-types'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { refusal } from '../../harness/api/gate.ts'
import type { TestContext } from '../../harness/context.ts'
import { deleted, failure, OK, together, whileRefusing, withoutFinalizers } from '../../rows/actions.ts'
import { claimed, provisionerRows, reports, started, touched, volumeAnswer } from '../../rows/provisioner/rows.ts'
import { type ClaimParts, claimRef, createClaim, setPhase } from '../../rows/provisioner/scene.ts'
import type { Action } from '../../rows/row.ts'
import { createGiven, createVolumeSnapshot, setStatus, snapshotSource } from '../../rows/snapshotter/scene.ts'

/** Rows about claims with a data source: restores of snapshots, and clones of claims. */

type Spec = Partial<NonNullable<PersistentVolumeClaim['spec']>>

const ALLOW = 'snapshot.storage.kubernetes.io/allow-volume-mode-change'
const SNAPSHOT_FINALIZER = 'provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection'
/** A finalizer of the rows that keeps a deleted object. */
const HOLDING_FINALIZER = 'example.com/held'
const ONCE = ['--retry-interval-start=1h', '--retry-interval-max=1h']
const QUICK = ['--retry-interval-start=200ms']

/**
 * The event of a claim with an unusable source. The rows wait for it, because the provisioner drops the event
 * `Provisioning` of a claim if many events are waiting.
 */
const UNUSABLE_SOURCE = 'error getting handle for DataSource'

const WITH_SOURCE = volumeAnswer({ contentSource: { type: undefined } })
const SOURCES = {
  snapshots: true,
  controller: ['CREATE_DELETE_SNAPSHOT', 'CLONE_VOLUME'],
  answers: { CreateVolume: [WITH_SOURCE] },
} as const
const row = provisionerRows('sources', import.meta.filename, SOURCES)

interface SnapshotParts {
  readonly finalizers?: readonly string[]
  /** Fields of the status that differ. Null: the snapshot is not bound. */
  readonly status?: object | null
  /** The VolumeSnapshotContent. Null: it does not exist. */
  readonly content?: { readonly annotations?: object; readonly spec?: object; readonly status?: object } | null
}

/** Creates a ready snapshot of 1 GiB, with its content. */
function snapshotCreated(
  { finalizers = [], status = {}, content = {} }: SnapshotParts = {},
  suffix = 'snap',
): Action<unknown> {
  const create = async (t: TestContext): Promise<void> => {
    const name = t.name(suffix)
    const usual = { boundVolumeSnapshotContentName: name, readyToUse: true, restoreSize: '1Gi' }
    const { metadata } = await createVolumeSnapshot(t, suffix, {
      source: { volumeSnapshotContentName: name },
      metadata: { finalizers },
      status: status === null ? undefined : { ...usual, ...status },
    })
    if (content === null) return
    const volumeSnapshotRef = { namespace: t.namespace, name, uid: metadata?.uid }
    await createGiven(t, {
      suffix,
      metadata: { annotations: content.annotations, finalizers: [] },
      spec: { source: { snapshotHandle: 'handle' }, volumeSnapshotRef, ...content.spec },
    })
    await setStatus(t, name, { readyToUse: true, snapshotHandle: 'handle', ...content.status })
  }
  return { name: `create VolumeSnapshot ${suffix}`, run: create }
}

/** Creates a claim that is restored from the snapshot. */
const restored = (suffix = '', snapshot = 'snap') =>
  claimed((t) => ({ spec: { dataSource: snapshotSource(t, snapshot) } }), suffix)

row('a VolumeSnapshot has a finalizer while the CreateVolume call with its handle runs', {
  differs: ['finalizer-until-restored'],
  steps: [snapshotCreated(), restored()],
})

const BLOCK = { sourceVolumeMode: 'Block' }
const UNUSABLE_SNAPSHOTS: Readonly<Record<string, SnapshotParts>> = {
  unbound: { status: null },
  'without-content': { content: null },
  'of-another': { content: { spec: { volumeSnapshotRef: { namespace: 'default', name: 'other', uid: 'x' } } } },
  'of-another-driver': { content: { spec: { driver: 'other.example.com' } } },
  'not-ready': { status: { readyToUse: false } },
  'without-handle': { content: { status: { snapshotHandle: null } } },
  'too-large': { status: { restoreSize: '2Gi' } },
  'of-another-mode': { content: { spec: BLOCK } },
  'with-forbidden-change': { content: { spec: BLOCK, annotations: { [ALLOW]: 'F' } } },
  'with-unreadable-permission': { content: { spec: BLOCK, annotations: { [ALLOW]: 'yes' } } },
}
row('an event of the claim names the reason why its snapshot cannot be restored', {
  setup: { args: ONCE },
  steps: [
    restored('-missing', 'missing'),
    together(
      'create claims of snapshots that cannot be restored',
      ...Object.entries(UNUSABLE_SNAPSHOTS).flatMap(([name, fields]) => [
        snapshotCreated(fields, name),
        restored(`-${name}`, name),
        reports(UNUSABLE_SOURCE, `-${name}`),
      ]),
    ),
  ],
})
row('a claim can have another volume mode than its snapshot if the VolumeSnapshotContent allows it', {
  differs: ['finalizer-until-restored'],
  steps: [snapshotCreated({ content: { spec: BLOCK, annotations: { [ALLOW]: 'T' } } }), restored()],
})
row('--prevent-volume-mode-conversion=false lets every claim have another volume mode than its snapshot', {
  setup: { args: ['--prevent-volume-mode-conversion=false'] },
  differs: ['finalizer-until-restored'],
  steps: [snapshotCreated({ content: { spec: BLOCK } }), restored()],
})
// Alone, because the search of another test would remove the finalizer before the claim exists.
row('a deleted VolumeSnapshot is restored only with the finalizer of the provisioner', {
  alone: 'cluster',
  setup: { args: [...ONCE, '--snapshot-orphan-sweep-interval=0'] },
  differs: ['finalizer-until-restored'],
  steps: [
    snapshotCreated({ finalizers: [HOLDING_FINALIZER] }, 'new'),
    deleted(VOLUME_SNAPSHOTS, 'new'),
    restored('-new', 'new'),
    snapshotCreated({ finalizers: [HOLDING_FINALIZER, SNAPSHOT_FINALIZER] }, 'begun'),
    deleted(VOLUME_SNAPSHOTS, 'begun'),
    restored('-begun', 'begun'),
  ],
})
row('a provisioner without the permission to update snapshots restores them without a finalizer', {
  setup: {
    rules: FACTS.provisioner.rules.map((rule) =>
      rule.resources.includes('volumesnapshots') ? { ...rule, verbs: ['get'] } : rule,
    ),
  },
  steps: [snapshotCreated(), restored()],
})
row('a failed write of the finalizer to a VolumeSnapshot causes an event, and delays CreateVolume', {
  setup: { args: QUICK },
  differs: ['finalizer-until-restored'],
  steps: [
    snapshotCreated(),
    whileRefusing('PUT volumesnapshots', refusal(500, 'InternalError', 'broken'), restored(), reports('broken')),
  ],
})
row('a snapshot keeps the finalizer of the provisioner until the last restore ends', {
  setup: { args: ONCE, answers: { CreateVolume: [failure(4, 'slow'), WITH_SOURCE] } },
  differs: ['finalizer-until-restored', 'repeated-events'],
  steps: [snapshotCreated(), restored('-slow'), restored('-fast'), touched('-slow')],
})

const FORGOTTEN = { finalizers: [HOLDING_FINALIZER, SNAPSHOT_FINALIZER] }
/** A claim of another provisioner that is restored from the snapshot `needed`. */
const neededElsewhere = claimed((t) => ({
  annotations: { 'volume.kubernetes.io/storage-provisioner': 'other.example.com' },
  spec: { dataSource: snapshotSource(t, 'needed') },
}))
// Alone, because the provisioner of another test may remove the finalizers.
row('a periodic search removes the finalizer of the provisioner from snapshots that no pending claim needs', {
  alone: 'cluster',
  setup: { startsLater: true, args: ['--snapshot-orphan-sweep-interval=500ms'] },
  steps: [
    [neededElsewhere, snapshotCreated(FORGOTTEN, 'forgotten'), snapshotCreated(FORGOTTEN, 'needed')],
    started,
    snapshotCreated(FORGOTTEN, 'forgotten-later'),
    withoutFinalizers(PERSISTENT_VOLUME_CLAIMS, 'pvc'),
  ],
})
row('a claim with an unknown kind of data source causes an event and no CreateVolume call', {
  setup: { args: ONCE },
  steps: [claimed({ spec: { dataSourceRef: { apiGroup: 'populator.example.com', kind: 'Data', name: 'x' } } })],
})
row('a new volume without the requested content source is deleted', {
  setup: { args: QUICK, answers: { CreateVolume: [OK, WITH_SOURCE] } },
  differs: ['finalizer-until-restored'],
  steps: [snapshotCreated(), restored()],
})

interface Original extends Omit<ClaimParts, 'suffix'> {
  readonly pv?: object
  readonly csi?: object | null
  /** True for a claim that has no volume yet. */
  readonly isPending?: true
  readonly phase?: string
}

/** Creates a bound claim with a volume of the driver. */
function originalCreated(fields: Original = {}, suffix = '-source'): Action<unknown> {
  const { pv, csi, isPending, phase = 'Bound', spec, ...others } = fields
  const create = async (t: TestContext): Promise<void> => {
    const name = t.name(`pv${suffix}`)
    const uid = await createClaim(t, { ...others, suffix, spec: { volumeName: name, ...spec } })
    const ref = claimRef(t, suffix)
    const owner = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', ...ref, uid }
    const source = csi === null ? { csi, hostPath: { path: '/x' } } : { csi: { volumeHandle: 'original', ...csi } }
    await t.createVolume(`pv${suffix}`, { claimRef: owner, storageClassName: t.name('class'), ...source, ...pv })
    await setPhase(t, name, phase)
    if (isPending) return
    const status = { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } }
    await t.api.merge(PERSISTENT_VOLUME_CLAIMS, { ...ref, subresource: 'status' }, { status })
  }
  return { name: `create the bound PersistentVolumeClaim pvc${suffix}`, run: create }
}

/** Creates a claim that is a clone of the source. */
const cloned = (suffix = '', source = '-source', spec: Spec = {}) =>
  claimed(
    (t) => ({
      spec: { dataSource: { kind: 'PersistentVolumeClaim', name: claimRef(t, source).name }, ...spec },
    }),
    suffix,
  )

row('a clone may have another class, and its source claim has a finalizer during CreateVolume and afterwards', {
  steps: [
    originalCreated(),
    claimed(
      (t) => ({
        class: {},
        spec: { dataSource: { kind: 'PersistentVolumeClaim', name: claimRef(t, '-source').name } },
      }),
      '-clone',
    ),
  ],
})
const OTHER_CLAIM = { kind: 'PersistentVolumeClaim', namespace: 'default', name: 'other', uid: 'x' }
const NO_ORIGINALS: Readonly<Record<string, readonly [Original, clone?: Spec]>> = {
  pending: [{ isPending: true }],
  'without-class': [{ spec: { storageClassName: undefined } }],
  larger: [{ spec: { resources: { requests: { storage: '2Gi' } } } }],
  'without-volume': [{ spec: { volumeName: 'missing' } }],
  'without-csi-volume': [{ csi: null }],
  'of-another-driver': [{ csi: { driver: 'other.example.com' } }],
  'of-another-claim': [{ pv: { claimRef: OTHER_CLAIM } }],
  released: [{ phase: 'Released' }],
  'of-mode-block': [{ pv: { volumeMode: 'Block' } }],
  'of-mode-filesystem': [{}, { volumeMode: 'Block' }],
}
row('an event of the claim names the reason why its source cannot be cloned', {
  setup: { args: ONCE },
  steps: [
    cloned('-missing', '-none'),
    [
      originalCreated({ finalizers: [HOLDING_FINALIZER] }, '-in-deletion'),
      deleted(PERSISTENT_VOLUME_CLAIMS, 'pvc-in-deletion'),
      cloned('-deletion', '-in-deletion'),
    ],
    together(
      'create clones of claims that cannot be cloned',
      ...Object.entries(NO_ORIGINALS).flatMap(([name, [original, clone]]) => [
        originalCreated(original, `-${name}`),
        cloned(`-clone-${name}`, `-${name}`, clone),
        reports(UNUSABLE_SOURCE, `-clone-${name}`),
      ]),
    ),
  ],
})
// Alone, because each provisioner of the cluster removes the finalizer.
row('a deleted source claim loses the finalizer of the provisioner once no clone is pending', {
  alone: 'cluster',
  setup: { args: QUICK, answers: { CreateVolume: [failure(3)] } },
  steps: [
    originalCreated({ finalizers: [HOLDING_FINALIZER] }),
    cloned('-clone'),
    deleted(PERSISTENT_VOLUME_CLAIMS, 'pvc-source'),
    withoutFinalizers(PERSISTENT_VOLUME_CLAIMS, 'pvc-clone'),
  ],
})
row('an event of the claim reports a driver that supports no snapshots or no clones', {
  setup: { args: ONCE, controller: [] },
  steps: [restored(), cloned('-clone')],
})
