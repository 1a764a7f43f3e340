import {
  LEASES,
  PERSISTENT_VOLUME_CLAIMS,
  VOLUME_SNAPSHOT_CLASSES,
  VOLUME_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOTS,
} from '@csi-sidecars/kube-types'
import { pvc } from '@csi-sidecars/testkit'
import { expect, it } from '@jest/globals'
import { ask, clientOf, explain, type Stored, serving } from './testing/ask.ts'
import { lease } from './testing/facts.ts'
import { type BlockedState, CLAIM, CLASS, checkState, DELETED, OLD, unbound } from './testing/states.ts'

/** States of snapshots, restores and clones that need no sidecar. */

const API = 'snapshot.storage.k8s.io/v1'
const SNAPSHOT = 'snapshot.storage.kubernetes.io/volumesnapshot'

const SNAPSHOT_CLASS: Stored = [
  VOLUME_SNAPSHOT_CLASSES,
  {
    apiVersion: API,
    kind: 'VolumeSnapshotClass',
    metadata: { name: 'class' },
    driver: 'csi.example.com',
    deletionPolicy: 'Delete',
  },
]

function snapshot(
  status?: object,
  metadata: object = OLD,
  source: object = { persistentVolumeClaimName: 'pvc-1' },
): Stored {
  return [
    VOLUME_SNAPSHOTS,
    {
      apiVersion: API,
      kind: 'VolumeSnapshot',
      metadata: { namespace: 'default', name: 'snap', uid: 'uid-snap', ...metadata },
      spec: { source, volumeSnapshotClassName: 'class' },
      ...(status && { status }),
    },
  ]
}

function content(status?: object, metadata: object = OLD, spec: object = {}): Stored {
  return [
    VOLUME_SNAPSHOT_CONTENTS,
    {
      apiVersion: API,
      kind: 'VolumeSnapshotContent',
      metadata: {
        name: 'content',
        uid: 'uid-content',
        finalizers: [`${SNAPSHOT}content-bound-protection`],
        ...metadata,
      },
      spec: {
        driver: 'csi.example.com',
        deletionPolicy: 'Delete',
        volumeSnapshotClassName: 'class',
        source: { volumeHandle: 'vol-1' },
        volumeSnapshotRef: { namespace: 'default', name: 'snap', uid: 'uid-snap' },
        ...spec,
      },
      ...(status && { status }),
    },
  ]
}

const OF_CONTENT = { boundVolumeSnapshotContentName: 'content' }

/** Returns a claim without a volume whose volume is created from the source. */
function from(dataSource: object): Stored {
  const metadata = { uid: 'uid-copy', ...OLD }
  return [
    PERSISTENT_VOLUME_CLAIMS,
    pvc('copy', { metadata, spec: { dataSource }, status: { phase: 'Pending' } } as never),
  ]
}
const RESTORED = from({ apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'snap' })
const CLONED = from({ kind: 'PersistentVolumeClaim', name: 'pvc-1' })

const NO_LEADER = 'a leader, and no replica leads'
const FIRST_TRY = 'its first try, of which there is no sign yet'
const A_VOLUME = 'a volume, from csi.example.com or by hand'
/** `explain` does not read the class of a claim that another object waits for. */
const SOME_VOLUME = 'a volume, from its provisioner or by hand'
const LISTED_VOLUME = `ClaimNotBound: ${A_VOLUME}`

const STATES: Readonly<Record<string, BlockedState>> = {
  'snapshots: a snapshot of a claim that does not exist': {
    of: ['vs', 'snap'],
    objects: [SNAPSHOT_CLASS, snapshot()],
    reason: 'SourceClaimMissing',
    says: 'PersistentVolumeClaim default/pvc-1, which does not exist',
  },
  'snapshots: a snapshot of a claim that is not bound': {
    of: ['vs', 'snap'],
    objects: [CLASS, SNAPSHOT_CLASS, unbound(), snapshot()],
    reason: 'ClaimNotBound',
    says: `${SOME_VOLUME} (PersistentVolumeClaim default/pvc-1)`,
    listedAs: LISTED_VOLUME,
  },
  'snapshots: a snapshot with a class that does not exist': {
    of: ['vs', 'snap'],
    objects: [CLAIM, snapshot()],
    reason: 'SnapshotClassMissing',
    says: 'VolumeSnapshotClass class, which does not exist',
  },
  'snapshots: a snapshot that no snapshot-controller has seen': {
    of: ['vs', 'snap'],
    objects: [SNAPSHOT_CLASS, CLAIM, snapshot()],
    reason: 'ContentNotCreated',
    says: 'the snapshot-controller to create a VolumeSnapshotContent',
  },
  'snapshots: a snapshot whose content is not ready': {
    of: ['vs', 'snap'],
    objects: [SNAPSHOT_CLASS, CLAIM, snapshot(OF_CONTENT), content()],
    reason: 'SnapshotNotBegun',
    says: `${FIRST_TRY} (VolumeSnapshotContent content)`,
  },
  'snapshots: a snapshot whose content and claim do not exist': {
    of: ['vs', 'snap'],
    objects: [SNAPSHOT_CLASS, snapshot(OF_CONTENT)],
    reason: 'ContentMissing',
    says: 'VolumeSnapshotContent content, which does not exist',
  },
  'snapshots: a deleted snapshot that a claim is restored from': {
    of: ['vs', 'snap'],
    objects: [
      CLASS,
      SNAPSHOT_CLASS,
      snapshot({ readyToUse: true }, { ...DELETED, finalizers: [`${SNAPSHOT}-as-source-protection`] }),
      RESTORED,
    ],
    reason: 'ClaimNotBound',
    says: `${SOME_VOLUME} (PersistentVolumeClaim default/copy)`,
    listedAs: LISTED_VOLUME,
  },
  'snapshots: a content that no snapshotter has seen': {
    of: ['vsc', 'content'],
    objects: [SNAPSHOT_CLASS, content()],
    reason: 'SnapshotNotBegun',
    says: FIRST_TRY,
  },
  'snapshots: a content without a leading snapshotter': {
    of: ['vsc', 'content'],
    objects: [
      SNAPSHOT_CLASS,
      content(),
      [LEASES, lease('external-snapshotter-leader-csi-example-com', { holder: '' })],
    ],
    reason: 'NoLeader',
    says: NO_LEADER,
  },
  'snapshots: a deleted content whose snapshot exists': {
    of: ['vsc', 'content'],
    objects: [
      SNAPSHOT_CLASS,
      snapshot({ ...OF_CONTENT, readyToUse: true }),
      content(
        { readyToUse: true, snapshotHandle: 'snap-1' },
        { ...DELETED, finalizers: [`${SNAPSHOT}content-bound-protection`] },
      ),
    ],
    reason: 'SnapshotNotDeleted',
    says: 'VolumeSnapshot default/snap to be deleted',
  },
  'snapshots: a deleted content whose snapshot does not exist': {
    of: ['vsc', 'content'],
    objects: [SNAPSHOT_CLASS, content({ readyToUse: true, snapshotHandle: 'snap-1' }, DELETED)],
    reason: 'SnapshotMissing',
    says: 'VolumeSnapshot default/snap with UID uid-snap, which does not exist',
  },
  'snapshots: a deleted content whose snapshot was recreated': {
    of: ['vsc', 'content'],
    objects: [
      SNAPSHOT_CLASS,
      snapshot({ readyToUse: true }, { ...OLD, uid: 'uid-new' }),
      content({ readyToUse: true, snapshotHandle: 'snap-1' }, DELETED),
    ],
    reason: 'SnapshotMissing',
    says: 'VolumeSnapshot default/snap with UID uid-snap, which does not exist',
  },
  'snapshots: a deleted content that was never bound to a snapshot': {
    of: ['vsc', 'content'],
    objects: [
      content(undefined, DELETED, {
        source: { snapshotHandle: 'snap-1' },
        volumeSnapshotRef: { namespace: 'default', name: 'snap' },
      }),
    ],
    reason: 'SnapshotDeleting',
    says: 'driver csi.example.com to delete the snapshot',
  },
  'snapshots: a restore from a snapshot that does not exist': {
    of: ['pvc', 'copy'],
    objects: [CLASS, RESTORED],
    reason: 'RestoreSourceMissing',
    says: 'VolumeSnapshot default/snap, which does not exist',
  },
  'snapshots: a restore from a snapshot whose content is not ready': {
    of: ['pvc', 'copy'],
    objects: [CLASS, SNAPSHOT_CLASS, CLAIM, snapshot(OF_CONTENT), content(), RESTORED],
    reason: 'SnapshotNotBegun',
    says: `${FIRST_TRY} (VolumeSnapshotContent content)`,
  },
  'snapshots: a clone of a claim that does not exist': {
    of: ['pvc', 'copy'],
    objects: [CLASS, CLONED],
    reason: 'CloneSourceMissing',
    says: 'PersistentVolumeClaim default/pvc-1, which does not exist',
  },
  'snapshots: a clone of a claim that is not bound': {
    of: ['pvc', 'copy'],
    objects: [CLASS, unbound(), CLONED],
    reason: 'ClaimNotBound',
    says: `${A_VOLUME} (PersistentVolumeClaim default/pvc-1)`,
  },
  'snapshots: a claim without a leading provisioner': {
    of: ['pvc', 'pvc-1'],
    objects: [CLASS, unbound(), [LEASES, lease('csi-example-com', { holder: '' })]],
    reason: 'NoLeader',
    says: NO_LEADER,
  },
}

it.each(Object.entries(STATES))('`kubectl csi explain` explains this state: %s', checkState)

it('`kubectl csi explain` reports that nothing is stuck about a ready snapshot', async () => {
  const source = { volumeSnapshotContentName: 'content' }
  const objects = [
    SNAPSHOT_CLASS,
    snapshot({ ...OF_CONTENT, readyToUse: true }, OLD, source),
    content({ readyToUse: true, snapshotHandle: 'snap-1' }),
  ]
  const client = clientOf(serving(objects))
  expect(await ask(client, explain('vsc', 'content'))).toMatchObject({
    code: 0,
    first: expect.stringMatching(/nothing is stuck\. It is ready, as snapshot snap-1\.$/),
  })
  expect(await ask(client, explain('vs', 'snap'))).toMatchObject({
    code: 0,
    first: expect.stringMatching(/nothing is stuck\. It is ready, in /),
  })
})

it('`kubectl csi explain` of a deleted snapshot names only the claims that are restored from it', async () => {
  const finalizers = [`${SNAPSHOT}-bound-protection`]
  const client = clientOf(serving([CLASS, CLONED, snapshot(undefined, { ...DELETED, finalizers })]))
  const { first, text } = await ask(client, explain('vs', 'snap'))
  expect(first).toMatch(/ for the snapshot-controller to remove its finalizers\.$/)
  expect(text).not.toContain('Also: ')
})
