import { match } from 'node:assert'
import { VOLUME_SNAPSHOT_CONTENTS, VOLUME_SNAPSHOTS } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import type { DriverReply } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { createClaim, createClass as createStorageClass, eventOf } from '../../rows/provisioner/scene.ts'
import { createBoundClaim } from '../../rows/resizer/scene.ts'
import {
  createClass,
  createContent,
  createVolumeSnapshot,
  eventsOf,
  failed,
  getContent,
  isMarked,
  ready,
  remove,
  SNAPSHOT,
  SNAPSHOTS,
  scene,
  secretAnnotations,
  snapshot,
  snapshotSource,
  UID,
} from '../../rows/snapshotter/scene.ts'
import { explained } from './ask.ts'

/** Tests that stage the states of snapshots, restores and clones in docs/operations.md, and check `explain`. */

interface State {
  /** Creates the objects and injects the faults that lead to the state. */
  readonly stage: (t: TestContext) => Promise<unknown>
  readonly of: 'vs' | 'vsc' | 'pvc'
  /** Returns the object or sidecar that waits, as the output of `explain` names it. Default: see `WAITERS`. */
  readonly waiter?: (t: TestContext, object: string) => string
  readonly waitsFor: (t: TestContext) => RegExp
}

const KINDS = { vs: 'VolumeSnapshot', vsc: 'VolumeSnapshotContent', pvc: 'PersistentVolumeClaim' } as const
const NAMES = { vs: 'snap', vsc: 'content', pvc: 'pvc' } as const

const THE_SNAPSHOTTER = (t: TestContext): string => `external-snapshotter of ${t.driverName}`
const THE_CLAIM = (): string => 'the claim'
const WAITERS = { vs: () => 'the snapshot', vsc: THE_SNAPSHOTTER, pvc: THE_CLAIM } as const
const THE_DELETION = (_: TestContext, object: string): string => `the deletion of ${object}`
const volumeOf = (suffix: string) => (t: TestContext) =>
  new RegExp(`a volume, .* or by hand \\(PersistentVolumeClaim default/${t.name(suffix)}\\)`)
const missing = (kind: string, suffix: string) => (t: TestContext) =>
  new RegExp(`${kind}${t.name(suffix)}, which does not exist`)

/** Starts a snapshotter whose driver answers CreateSnapshot with `answer`. Creates a VolumeSnapshotContent. */
async function answering(t: TestContext, answer: DriverReply, metadata?: object): Promise<void> {
  await createClass(t)
  await scene(t, {
    args: ['--retry-interval-start=100ms', '--retry-interval-max=1s'],
    prepare: (driver) => driver.on('CreateSnapshot', answer),
  })
  await createContent(t, metadata === undefined ? {} : { metadata })
}

/** The parts of the claim `pvc-source`, from which a VolumeSnapshot or a volume is created. */
const SOURCE = { suffix: '-source' } as const
const ofContent = (t: TestContext): object => ({ boundVolumeSnapshotContentName: t.name('content') })

/** Creates a VolumeSnapshot of the claim `pvc-source`. */
function snapshotOfClaim(t: TestContext, fields: { metadata?: object; status?: object } = {}) {
  return createVolumeSnapshot(t, 'snap', { source: { persistentVolumeClaimName: t.name('pvc-source') }, ...fields })
}

/** Creates a VolumeSnapshot whose finalizer keeps it after its deletion. */
async function deletedSnapshot(t: TestContext, use: string, status?: object): Promise<void> {
  await snapshotOfClaim(t, { metadata: { finalizers: [`${SNAPSHOT}-${use}-protection`] }, ...(status && { status }) })
  await t.api.delete(VOLUME_SNAPSHOTS, { namespace: t.namespace, name: t.name('snap') })
}

/** Creates a VolumeSnapshotContent of the VolumeSnapshot `snap`. Deletes it without the annotation for its deletion. */
async function deletedContent(t: TestContext, uid: string | undefined): Promise<void> {
  await createClass(t)
  await scene(t)
  const volumeSnapshotRef = { namespace: t.namespace, name: t.name('snap'), uid }
  await ready(t, await createContent(t, { spec: { volumeSnapshotRef } }))
  await t.api.delete(VOLUME_SNAPSHOT_CONTENTS, { name: t.name('content') })
}

/** Creates a claim whose volume is created from the source. */
async function claimFrom(t: TestContext, dataSource: { kind: string; name: string }): Promise<void> {
  await createStorageClass(t)
  await createClaim(t, { spec: { dataSource } })
}

const STATES: Readonly<Record<string, State>> = {
  'a content that the driver refuses': {
    of: 'vsc',
    stage: async (t) => {
      await answering(t, { code: 13, message: 'no' })
      await failed(t, /desc = no/)
    },
    waitsFor: (t) => new RegExp(`driver ${t.driverName} to do what it has refused with Internal`),
  },
  'a content whose Secret does not exist': {
    of: 'vsc',
    stage: async (t) => {
      await answering(t, snapshot(), { annotations: secretAnnotations(SNAPSHOT, 'none', 'default') })
      await failed(t, /cannot get credentials/)
    },
    waitsFor: () => /Secret of its annotations, which cannot be read/,
  },
  'a content with a class that does not exist': {
    of: 'vsc',
    stage: async (t) => {
      await scene(t)
      await createContent(t)
      await failed(t, /not found/)
    },
    waitsFor: missing('VolumeSnapshotClass ', 'class'),
  },
  'a snapshot that the driver has not finished': {
    of: 'vsc',
    stage: async (t) => {
      await answering(t, snapshot({ readyToUse: false }))
      await eventually('a handle', async () => (await getContent(t))?.status?.snapshotHandle !== undefined)
    },
    waitsFor: (t) => new RegExp(`driver ${t.driverName} to finish the snapshot`),
  },
  'a deleted content whose creation may still run': {
    of: 'vsc',
    stage: async (t) => {
      await answering(t, { code: 10, message: 'busy' })
      await eventually('the annotation', async () => isMarked((await getContent(t)) ?? {}))
      await remove(t)
    },
    waitsFor: (t) => new RegExp(`driver ${t.driverName} to answer a creation that may still run`),
  },
  'a deletion that the driver refuses': {
    of: 'vsc',
    stage: async (t) => {
      await answering(t, snapshot())
      await ready(t)
      t.drivers[0]?.on('DeleteSnapshot', { code: 9, message: 'in use' })
      await remove(t)
      await eventually('the event', async () => (await eventsOf(t)).length > 0)
    },
    waitsFor: (t) => new RegExp(`driver ${t.driverName} to delete the snapshot, which it has refused`),
  },
  'a restore from a snapshot whose content is not ready': {
    of: 'pvc',
    waiter: THE_SNAPSHOTTER,
    stage: async (t) => {
      await createClass(t)
      await snapshotOfClaim(t, { status: ofContent(t) })
      await createContent(t)
      await claimFrom(t, snapshotSource(t, 'snap'))
    },
    waitsFor: (t) => new RegExp(`its first try, .*\\(VolumeSnapshotContent ${t.name('content')}\\)`),
  },
  'a volume that the driver refuses to create': {
    of: 'pvc',
    stage: async (t) => {
      await createStorageClass(t)
      const driver = await t.driver({ controller: [...SNAPSHOTS, 'CREATE_DELETE_VOLUME'] })
      driver.on('CreateVolume', { code: 13, message: 'full' })
      const sidecar = await t.sidecar({ driver, app: 'provisioner' })
      await t.watching(sidecar, 'persistentvolumeclaims', 'storageclasses')
      await createClaim(t)
      await eventOf(t, t.name('pvc'), 'full')
    },
    waitsFor: (t) => new RegExp(`driver ${t.driverName} to do what it has refused with Internal`),
  },
  'a snapshot of a claim that does not exist': {
    of: 'vs',
    stage: snapshotOfClaim,
    waitsFor: missing('PersistentVolumeClaim default/', 'pvc-source'),
  },
  'a snapshot of a claim that is not bound': {
    of: 'vs',
    waiter: THE_CLAIM,
    stage: async (t) => {
      await createClaim(t, SOURCE)
      await snapshotOfClaim(t)
    },
    waitsFor: volumeOf('pvc-source'),
  },
  'a snapshot with a class that does not exist': {
    of: 'vs',
    stage: async (t) => {
      await createBoundClaim(t, SOURCE)
      await snapshotOfClaim(t)
    },
    waitsFor: missing('VolumeSnapshotClass ', 'class'),
  },
  'a snapshot without a snapshot-controller': {
    of: 'vs',
    stage: async (t) => {
      await createBoundClaim(t, SOURCE)
      await createClass(t)
      await snapshotOfClaim(t)
    },
    waitsFor: () => /the snapshot-controller to create a VolumeSnapshotContent/,
  },
  'a deleted snapshot whose finalizers stay': {
    of: 'vs',
    waiter: THE_DELETION,
    stage: (t) => deletedSnapshot(t, 'bound'),
    waitsFor: () => /the snapshot-controller to remove its finalizers/,
  },
  'a snapshot whose content does not exist': {
    of: 'vs',
    stage: (t) => snapshotOfClaim(t, { status: ofContent(t) }),
    waitsFor: missing('VolumeSnapshotContent ', 'content'),
  },
  'a snapshot that waits for its content': {
    of: 'vs',
    waiter: THE_SNAPSHOTTER,
    stage: async (t) => {
      await answering(t, { code: 13, message: 'no' })
      await failed(t, /desc = no/)
      await snapshotOfClaim(t, { status: ofContent(t) })
    },
    waitsFor: (t) => new RegExp(`refused with Internal.* \\(VolumeSnapshotContent ${t.name('content')}\\)`),
  },
  'a deleted snapshot with a restore from it': {
    of: 'vs',
    waiter: THE_CLAIM,
    stage: async (t) => {
      await deletedSnapshot(t, 'as-source', { readyToUse: true })
      await claimFrom(t, snapshotSource(t, 'snap'))
    },
    waitsFor: volumeOf('pvc'),
  },
  'a content without a status': {
    of: 'vsc',
    stage: async (t) => {
      await createClass(t)
      await createContent(t)
    },
    waitsFor: () => /its first try, of which there is no sign yet/,
  },
  'a deleted content whose snapshot exists': {
    of: 'vsc',
    waiter: THE_DELETION,
    stage: async (t) => {
      const status = { ...ofContent(t), readyToUse: true }
      await deletedContent(t, (await snapshotOfClaim(t, { status })).metadata?.uid)
    },
    waitsFor: (t) => new RegExp(`VolumeSnapshot default/${t.name('snap')} to be deleted`),
  },
  'a deleted content whose snapshot does not exist': {
    of: 'vsc',
    waiter: THE_DELETION,
    stage: (t) => deletedContent(t, UID),
    waitsFor: (t) => new RegExp(`VolumeSnapshot default/${t.name('snap')} with UID ${UID}, which does not exist`),
  },
  'a restore from a snapshot that does not exist': {
    of: 'pvc',
    stage: (t) => claimFrom(t, snapshotSource(t, 'snap')),
    waitsFor: missing('VolumeSnapshot default/', 'snap'),
  },
  'a clone of a claim that does not exist': {
    of: 'pvc',
    stage: (t) => claimFrom(t, { kind: 'PersistentVolumeClaim', name: t.name('pvc-source') }),
    waitsFor: missing('PersistentVolumeClaim default/', 'pvc-source'),
  },
  'a clone of a claim that is not bound': {
    of: 'pvc',
    stage: async (t) => {
      await createClaim(t, SOURCE)
      await claimFrom(t, { kind: 'PersistentVolumeClaim', name: t.name('pvc-source') })
    },
    waitsFor: volumeOf('pvc-source'),
  },
}

const test = testsOf('snapshotter', 'explain')

for (const [label, { of, stage, waitsFor, waiter = WAITERS[of] }] of Object.entries(STATES)) {
  test(`kubectl csi explain gives the reason for ${label}`, async (t) => {
    await stage(t)
    const name = t.name(NAMES[of])
    const object = `${KINDS[of]} ${of === 'vsc' ? '' : 'default/'}${name}`
    const { ask } = await explained(t, [of, name], { object, waiter: waiter(t, object), waitsFor: waitsFor(t) })
    match((await ask('stuck')).stdout, new RegExp(`${name}: `))
  })
}
