import { match } from 'node:assert'
import type { TestContext } from '../../harness/context.ts'
import type { DriverReply } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { createClaim, createClass as createStorageClass, eventOf } from '../../rows/provisioner/scene.ts'
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
} from '../../rows/snapshotter/scene.ts'
import { explained } from './ask.ts'

/**
 * Tests that stage states of snapshots and volumes in docs/operations.md with a sidecar, and check `explain`. States that need
 * no sidecar are in `states.snapshots.test.ts` of kubectl-csi.
 */

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
  'a snapshot that waits for its content': {
    of: 'vs',
    waiter: THE_SNAPSHOTTER,
    stage: async (t) => {
      await answering(t, { code: 13, message: 'no' })
      await failed(t, /desc = no/)
      const status = { boundVolumeSnapshotContentName: t.name('content') }
      await createVolumeSnapshot(t, 'snap', { source: { persistentVolumeClaimName: t.name('pvc-source') }, status })
    },
    waitsFor: (t) => new RegExp(`refused with Internal.* \\(VolumeSnapshotContent ${t.name('content')}\\)`),
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
