import { match } from 'node:assert'
import {
  LEASES,
  PERSISTENT_VOLUME_CLAIMS,
  rfc3339Micro,
  VOLUME_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOTS,
} from '@csi-sidecars/kube-types'
import { lease } from '../../harness/api/objects.ts'
import type { TestContext } from '../../harness/context.ts'
import type { Answer } from '../../harness/driver/driver.ts'
import { leaseName } from '../../harness/subject.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { claimRef, createClaim, createClass as createStorageClass, eventOf } from '../provisioner/scene.ts'
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
  setStatus,
  snapshot,
  snapshotSource,
} from '../snapshotter/scene.ts'
import { asking, explained } from './ask.ts'

/** Tests that stage the states of snapshots, restores and clones in docs/operations.md, and check `explain`. */

const AS_SOURCE = `${SNAPSHOT}-as-source-protection`

interface State {
  /** Creates the objects and injects the faults that lead to the state. */
  readonly stage: (t: TestContext) => Promise<unknown>
  readonly of: 'vs' | 'vsc' | 'pvc'
  /** Returns the object or sidecar that waits, as the output of `explain` names it. Default: the snapshotter. */
  readonly waiter?: (t: TestContext) => string
  readonly waitsFor: (t: TestContext) => RegExp
}

const KINDS = { vs: 'VolumeSnapshot', vsc: 'VolumeSnapshotContent', pvc: 'PersistentVolumeClaim' } as const
const NAMES = { vs: 'snap', vsc: 'content', pvc: 'pvc' } as const

const THE_CLAIM = (): string => 'the claim'
const THE_SNAPSHOTTER = (t: TestContext): string => `external-snapshotter of ${t.driverName}`
const THE_SNAPSHOT = (): string => 'the snapshot'

/** Creates a VolumeSnapshot of the test's claim. */
function createSnapshot(t: TestContext, parts: { readonly metadata?: object; readonly status?: object } = {}) {
  return createVolumeSnapshot(t, 'snap', { source: { persistentVolumeClaimName: t.name('pvc') }, ...parts })
}

async function boundClaim(t: TestContext): Promise<void> {
  await createClaim(t)
  await t.api.merge(PERSISTENT_VOLUME_CLAIMS, { ...claimRef(t), subresource: 'status' }, { status: { phase: 'Bound' } })
}

/** Creates a claim with a data source. Default: the VolumeSnapshot. */
async function fromSource(t: TestContext, claim?: string): Promise<void> {
  await createStorageClass(t)
  const dataSource = claim === undefined ? snapshotSource(t, 'snap') : { kind: 'PersistentVolumeClaim', name: claim }
  await createClaim(t, { spec: { dataSource } })
}

/** Starts a snapshotter whose driver answers CreateSnapshot with `answer`. Creates a VolumeSnapshotContent. */
async function answering(t: TestContext, answer: Answer, metadata?: object): Promise<void> {
  await createClass(t)
  await scene(t, {
    args: ['--retry-interval-start=100ms', '--retry-interval-max=1s'],
    prepare: (driver) => driver.on('CreateSnapshot', answer),
  })
  await createContent(t, metadata === undefined ? {} : { metadata })
}

/** Creates a class and a VolumeSnapshotContent, but starts no snapshotter. */
async function withContent(t: TestContext): Promise<void> {
  await createClass(t)
  await createContent(t)
}

const NO_LEADER = /a leader, and no replica leads/

async function releasedLease(t: TestContext, app: 'snapshotter' | 'provisioner'): Promise<void> {
  const spec = { holderIdentity: '', leaseDurationSeconds: 1, renewTime: rfc3339Micro(Date.now()) }
  await t.create(LEASES, lease(leaseName(app, t.driverName), spec))
}

const STATES: Readonly<Record<string, State>> = {
  'a snapshot of a claim that does not exist': {
    of: 'vs',
    waiter: THE_SNAPSHOT,
    stage: (t) => createSnapshot(t),
    waitsFor: (t) => new RegExp(`PersistentVolumeClaim default/${t.name('pvc')}, which does not exist`),
  },
  'a snapshot of a claim that is not bound': {
    of: 'vs',
    waiter: THE_CLAIM,
    stage: async (t) => {
      await createStorageClass(t)
      await createClaim(t)
      await createSnapshot(t)
    },
    waitsFor: (t) => new RegExp(`a volume, .*\\(PersistentVolumeClaim default/${t.name('pvc')}\\)`),
  },
  'a snapshot with a class that does not exist': {
    of: 'vs',
    waiter: THE_SNAPSHOT,
    stage: async (t) => {
      await boundClaim(t)
      await createSnapshot(t)
    },
    waitsFor: (t) => new RegExp(`VolumeSnapshotClass ${t.name('class')}, which does not exist`),
  },
  'a snapshot that no snapshot-controller has seen': {
    of: 'vs',
    waiter: THE_SNAPSHOT,
    stage: async (t) => {
      await boundClaim(t)
      await createClass(t)
      await createSnapshot(t)
    },
    waitsFor: () => /the snapshot-controller to create a VolumeSnapshotContent/,
  },
  'a snapshot whose content is not ready': {
    of: 'vs',
    stage: async (t) => {
      await withContent(t)
      await createSnapshot(t, { status: { boundVolumeSnapshotContentName: t.name('content') } })
    },
    waitsFor: (t) => new RegExp(`its first try, .*\\(VolumeSnapshotContent ${t.name('content')}\\)`),
  },
  'a deleted snapshot that a claim is restored from': {
    of: 'vs',
    waiter: THE_CLAIM,
    stage: async (t) => {
      await createSnapshot(t, { metadata: { finalizers: [AS_SOURCE] }, status: { readyToUse: true } })
      await fromSource(t)
      await t.api.delete(VOLUME_SNAPSHOTS, { namespace: t.namespace, name: t.name('snap') })
    },
    waitsFor: (t) => new RegExp(`a volume, .*\\(PersistentVolumeClaim default/${t.name('pvc')}\\)`),
  },
  'a content that no snapshotter has seen': {
    of: 'vsc',
    stage: withContent,
    waitsFor: () => /its first try, of which there is no sign yet/,
  },
  'a content without a leading snapshotter': {
    of: 'vsc',
    stage: async (t) => {
      await releasedLease(t, 'snapshotter')
      await withContent(t)
    },
    waitsFor: () => NO_LEADER,
  },
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
    waitsFor: (t) => new RegExp(`VolumeSnapshotClass ${t.name('class')}, which does not exist`),
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
  'a deleted content whose snapshot exists': {
    of: 'vsc',
    waiter: (t) => `the deletion of VolumeSnapshotContent ${t.name('content')}`,
    stage: async (t) => {
      await createContent(t)
      await setStatus(t, t.name('content'), { readyToUse: true, snapshotHandle: 'snap-1' })
      await t.api.delete(VOLUME_SNAPSHOT_CONTENTS, { name: t.name('content') })
    },
    waitsFor: () => /VolumeSnapshot default\/snap to be deleted/,
  },
  'a restore from a snapshot that does not exist': {
    of: 'pvc',
    waiter: THE_CLAIM,
    stage: (t) => fromSource(t),
    waitsFor: (t) => new RegExp(`VolumeSnapshot default/${t.name('snap')}, which does not exist`),
  },
  'a restore from a snapshot whose content is not ready': {
    of: 'pvc',
    stage: async (t) => {
      await withContent(t)
      await createSnapshot(t, { status: { boundVolumeSnapshotContentName: t.name('content') } })
      await fromSource(t)
    },
    waitsFor: (t) => new RegExp(`its first try, .*\\(VolumeSnapshotContent ${t.name('content')}\\)`),
  },
  'a clone of a claim that does not exist': {
    of: 'pvc',
    waiter: THE_CLAIM,
    stage: (t) => fromSource(t, t.name('none')),
    waitsFor: (t) => new RegExp(`PersistentVolumeClaim default/${t.name('none')}, which does not exist`),
  },
  'a clone of a claim that is not bound': {
    of: 'pvc',
    waiter: THE_CLAIM,
    stage: async (t) => {
      await fromSource(t, t.name('pvc-source'))
      await createClaim(t, { suffix: '-source' })
    },
    waitsFor: (t) => new RegExp(`a volume, .*\\(PersistentVolumeClaim default/${t.name('pvc-source')}\\)`),
  },
  'a claim without a leading provisioner': {
    of: 'pvc',
    waiter: (t) => `external-provisioner of ${t.driverName}`,
    stage: async (t) => {
      await createStorageClass(t)
      await releasedLease(t, 'provisioner')
      await createClaim(t)
    },
    waitsFor: () => NO_LEADER,
  },
  'a volume that the driver refuses to create': {
    of: 'pvc',
    waiter: THE_CLAIM,
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
}

const test = testsOf('snapshotter', 'explain')

for (const [what, { of, stage, waitsFor, waiter = THE_SNAPSHOTTER }] of Object.entries(STATES)) {
  test(`kubectl csi explain gives the reason for ${what}`, async (t) => {
    await stage(t)
    const name = t.name(NAMES[of])
    const object = `${KINDS[of]} ${of === 'vsc' ? '' : 'default/'}${name}`
    const { ask } = await explained(t, [of, name], { object, waiter: waiter(t), waitsFor: waitsFor(t) })
    match((await ask('stuck')).stdout, new RegExp(`${name}: `))
  })
}

test('kubectl csi explain reports that a ready snapshot is not stuck', async (t) => {
  await createContent(t)
  await setStatus(t, t.name('content'), { readyToUse: true, snapshotHandle: 'snap-1' })
  await createVolumeSnapshot(t, 'snap', {
    source: { volumeSnapshotContentName: t.name('content') },
    status: { boundVolumeSnapshotContentName: t.name('content'), readyToUse: true },
  })
  const { ask } = await asking(t)
  const content = (await ask('explain', 'vsc', t.name('content'))).first
  match(content, /nothing is stuck\. It is ready, as snapshot snap-1\.$/)
  match((await ask('explain', 'vs', t.name('snap'))).first, /nothing is stuck\. It is ready, in /)
})
