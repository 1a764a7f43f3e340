import { CODES, RpcError } from '@csi-sidecars/csi'
import type { CreateSnapshotRequest } from '@csi-sidecars/csi-proto'
import {
  SECRETS,
  VOLUME_GROUP_SNAPSHOT_CLASSES,
  VOLUME_GROUP_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOT_CLASSES,
  VOLUME_SNAPSHOT_CONTENTS,
} from '@csi-sidecars/kube-types'
import { secret } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { GROUP_NAMES, MEMBER_ANNOTATION, SNAPSHOT_NAMES } from '../caches/names.ts'
import { apiError, Fixture, type FixtureOptions, failing } from '../testing/fixture.ts'
import { DRIVER, groupClass, preProvisioned, snapshotClass, UID, vgsc, vsc } from '../testing/objects.ts'

const CLASS = [VOLUME_SNAPSHOT_CLASSES, snapshotClass()] as const
const CONTENT = [VOLUME_SNAPSHOT_CONTENTS, vsc()] as const
const BEING_DELETED = { metadata: { annotations: { [SNAPSHOT_NAMES.beingDeleted]: 'yes' } } }

/** Annotates and deletes a content, as the snapshot-controller does after a user has deleted the VolumeSnapshot. */
async function remove(fixture: Fixture, name = 'c'): Promise<void> {
  await fixture.edit(VOLUME_SNAPSHOT_CONTENTS, name, BEING_DELETED)
  await fixture.delete(VOLUME_SNAPSHOT_CONTENTS, name)
}

const unreadable = (): Promise<never> => Promise.reject(apiError(500, 'InternalError', 'no'))

/** Starts a snapshotter whose driver has created the snapshot of a content, but whose answer is lost. */
async function withLostAnswer(): Promise<Fixture> {
  const fixture = new Fixture({ objects: [CLASS, CONTENT] })
  fixture.scripts.set('CreateSnapshot', () => {
    fixture.storage.create(`snapshot-${UID}`, ['vol-1'])
    throw new RpcError(CODES.DeadlineExceeded, 'context deadline exceeded')
  })
  await fixture.start()
  fixture.scripts.clear()
  fixture.takeWire()
  return fixture
}

const RETAIN = { spec: { deletionPolicy: 'Retain' } }

/** Performs the changes while the watch is away, and lets the API server forget them, so that a list reports them. */
async function unseen(fixture: Fixture, change: () => Promise<void>): Promise<void> {
  fixture.running.lag()
  await change()
  fixture.running.loseChanges()
  await fixture.clock.advance(2_000)
  fixture.running.answerAtOnce()
  await fixture.clock.settle()
}

/** Starts a snapshotter whose CreateSnapshot for the content takes three seconds. */
async function duringCreation(): Promise<Fixture> {
  const fixture = new Fixture({ objects: [CLASS, CONTENT] })
  fixture.scripts.set('CreateSnapshot', () => fixture.clock.sleep(3_000))
  await fixture.start()
  return fixture
}

/** Returns the event about a snapshot that stays without a content. */
const left = (which: string, reason: string): string =>
  `Warning SnapshotLeft: The snapshot content c is gone. The snapshot ${which} of the volume vol-1 may stay in the back end: ${reason}`

const contentOf = (fixture: Fixture) => fixture.find(VOLUME_SNAPSHOT_CONTENTS, { name: 'c' })

describe('deletion', () => {
  it('the deletion of a content deletes the snapshot, clears the status and removes the finalizer', async () => {
    const fixture = await Fixture.running({ objects: [CLASS, CONTENT] })
    fixture.takeWire()
    await remove(fixture)
    expect(fixture.takeWire()).toEqual(['DeleteSnapshot', 'clear', 'release'])
    expect(contentOf(fixture)).toBeUndefined()
    expect(fixture.storage.snapshots.size).toBe(0)
  })

  it('the deletion of a content waits for the annotation of the snapshot-controller', async () => {
    const fixture = await Fixture.running({ objects: [CLASS, CONTENT] })
    fixture.takeWire()
    await fixture.delete(VOLUME_SNAPSHOT_CONTENTS, 'c')
    await fixture.clock.advance(100_000)
    expect(fixture.takeWire()).toEqual([])
  })

  it('the deletion of a content with the policy Retain keeps the snapshot', async () => {
    const content = vsc('c', { spec: { deletionPolicy: 'Retain' } })
    const fixture = await Fixture.running({ objects: [CLASS, [VOLUME_SNAPSHOT_CONTENTS, content]] })
    fixture.takeWire()
    await remove(fixture)
    expect(fixture.takeWire()).toEqual(['release'])
    expect(fixture.storage.snapshots.size).toBe(1)
  })

  it('the deletion of a member of a group snapshot keeps the snapshot', async () => {
    const status = { snapshotHandle: 'snap-m', volumeGroupSnapshotHandle: 'group-1', readyToUse: true }
    const fixture = await Fixture.running({ objects: [[VOLUME_SNAPSHOT_CONTENTS, vsc('c', { status })]] })
    await remove(fixture)
    expect(fixture.takeWire()).toEqual(['release'])
  })

  it('the deletion of an unbound pre-provisioned content deletes the snapshot', async () => {
    const content = preProvisioned('c', { spec: { volumeSnapshotRef: { uid: null } } })
    const fixture = new Fixture({ objects: [[VOLUME_SNAPSHOT_CONTENTS, content]] })
    fixture.storage.add('snap-given')
    fixture.api.delete(VOLUME_SNAPSHOT_CONTENTS, { name: 'c' })
    await fixture.start()
    expect(fixture.storage.deleted).toEqual(['snap-given'])
    expect(contentOf(fixture)).toBeUndefined()
  })

  it('the deletion of a content reports the cause of failed attempts by one event, and retries', async () => {
    const fixture = await Fixture.running({ objects: [CLASS, CONTENT] })
    fixture.scripts.set('DeleteSnapshot', () => {
      throw new RpcError(CODES.NotFound, 'no such snapshot')
    })
    await remove(fixture)
    await fixture.clock.advance(3_000)
    expect(fixture.takeEvents()).toEqual(['Warning SnapshotDeleteError: Failed to delete snapshot'])
    await fixture.clock.advance(20 * 60_000)
    expect(fixture.takeEvents()).toEqual(['Warning SnapshotDeleteError: Failed to delete snapshot'])
    fixture.scripts.clear()
    await fixture.clock.advance(5 * 60_000)
    expect(contentOf(fixture)).toBeUndefined()
  })

  it('DeleteSnapshot is repeated after the pause that the driver asks for', async () => {
    const fixture = await Fixture.running({ objects: [CLASS, CONTENT] })
    fixture.scripts.set('DeleteSnapshot', () => {
      throw new RpcError(CODES.ResourceExhausted, 'busy', { retryAfterMs: 5_000 })
    })
    await remove(fixture)
    await fixture.clock.advance(4_900)
    expect(fixture.takeCalls('DeleteSnapshot')).toHaveLength(1)
    await fixture.clock.advance(200)
    expect(fixture.takeCalls('DeleteSnapshot')).toHaveLength(1)
  })

  it('the deletion of a content reports a missing Secret by an event, and continues when the Secret appears', async () => {
    const annotations = { [SNAPSHOT_NAMES.secretName]: 'creds', [SNAPSHOT_NAMES.secretNamespace]: 'default' }
    const status = { snapshotHandle: 'snap-1', readyToUse: true }
    const content = vsc('c', { metadata: { annotations }, status })
    const fixture = await Fixture.running({
      settings: { retryStartMs: 20_000 },
      objects: [CLASS, [VOLUME_SNAPSHOT_CONTENTS, content]],
    })
    await remove(fixture)
    expect(fixture.takeEvents()).toEqual(['Warning SnapshotDeleteError: Failed to get snapshot credentials'])
    await fixture.storeObject(SECRETS, secret('creds', { user: 'me' }))
    await fixture.clock.advance(1_000)
    expect(contentOf(fixture)).toBeUndefined()
  })

  it('a failed DeleteSnapshot is logged with the error of the driver', async () => {
    const fixture = await Fixture.running({ objects: [CLASS, CONTENT] })
    fixture.scripts.set('DeleteSnapshot', failing(CODES.Internal))
    await remove(fixture)
    const error = 'failed to delete snapshot content c: "rpc error: code = Internal desc = no"'
    const message = `could not sync content "c": failed to delete snapshot "c", err: ${error}`
    expect(fixture.log.lines).toContainEqual(expect.objectContaining({ level: 'error', message }))
  })

  it('a refused removal of the finalizer is repeated without another DeleteSnapshot', async () => {
    const fixture = await Fixture.running({ objects: [CLASS, CONTENT] })
    fixture.refusals.set('release', [apiError(500, 'InternalError', 'no')])
    fixture.takeWire()
    await remove(fixture)
    await fixture.clock.advance(1_000)
    expect(fixture.takeWire()).toEqual(['DeleteSnapshot', 'clear', 'release', 'release'])
  })

  it('a snapshot whose content has no status is deleted only once, although the finalizer stays', async () => {
    const content = preProvisioned('c', {
      metadata: { finalizers: [SNAPSHOT_NAMES.finalizer, 'example.com/other'] },
      spec: { volumeSnapshotRef: { uid: null } },
    })
    const fixture = new Fixture({ objects: [[VOLUME_SNAPSHOT_CONTENTS, content]] })
    fixture.api.delete(VOLUME_SNAPSHOT_CONTENTS, { name: 'c' })
    fixture.refusals.set('release', [apiError(500, 'InternalError', 'no')])
    await fixture.start()
    await fixture.clock.advance(1_000)
    expect(fixture.takeWire()).toEqual(['DeleteSnapshot', 'release', 'release'])
    await fixture.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', { metadata: { labels: { a: 'b' } } })
    await fixture.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
    await fixture.clock.advance(20_000)
    expect(fixture.takeWire()).toEqual([])
  })

  it('the deletion of a group content deletes the group snapshot with the handles of its snapshots', async () => {
    const fixture = await Fixture.running({
      objects: [
        [VOLUME_GROUP_SNAPSHOT_CLASSES, groupClass()],
        [VOLUME_GROUP_SNAPSHOT_CONTENTS, vgsc('g', { metadata: { annotations: { [GROUP_NAMES.beingDeleted]: '' } } })],
      ],
    })
    fixture.takeCalls('')
    await fixture.delete(VOLUME_GROUP_SNAPSHOT_CONTENTS, 'g')
    expect(fixture.takeCalls('DeleteVolumeGroupSnapshot')).toMatchObject([
      { request: { groupSnapshotId: 'snap-1', snapshotIds: ['snap-1/vol-1', 'snap-1/vol-2'] } },
    ])
    expect(fixture.find(VOLUME_GROUP_SNAPSHOT_CONTENTS, { name: 'g' })).toBeUndefined()
  })
})

describe('interrupted creation', () => {
  it('the snapshotter deletes the snapshot of a deleted content as soon as its creation has ended', async () => {
    const contents = Array.from({ length: 16 }, (_, index) =>
      vsc(`c${index}`, {
        spec: { source: { volumeHandle: `vol-${index}` }, volumeSnapshotRef: { uid: `${UID}${index}` } },
      }),
    )
    const fixture = new Fixture({
      settings: { workers: 16 },
      objects: [CLASS, ...contents.map((each) => [VOLUME_SNAPSHOT_CONTENTS, each] as const)],
    })
    fixture.scripts.set('CreateSnapshot', () => fixture.clock.sleep(3_000))
    await fixture.start()
    for (const { metadata } of contents) await remove(fixture, metadata?.name)
    expect(fixture.storage.created).toEqual([])
    await fixture.clock.advance(4_000)
    expect(fixture.storage.created).toHaveLength(16)
    expect(fixture.storage.deleted).toHaveLength(16)
  })

  it('the finalizer of a deleted content stays while its creation may be running', async () => {
    const fixture = new Fixture({ objects: [CLASS, CONTENT] })
    fixture.scripts.set('CreateSnapshot', () => {
      throw new RpcError(CODES.Aborted, 'pending')
    })
    await fixture.start()
    await remove(fixture)
    await fixture.clock.advance(3_000)
    expect(contentOf(fixture)).toBeDefined()
    fixture.scripts.set('CreateSnapshot', failing(CODES.InvalidArgument))
    await fixture.clock.advance(60_000)
    expect(contentOf(fixture)).toBeUndefined()
  })

  it('no snapshot remains if the finalizers of its content are removed during CreateSnapshot', async () => {
    const fixture = new Fixture({ objects: [CLASS, CONTENT] })
    fixture.scripts.set('CreateSnapshot', () => fixture.clock.sleep(3_000))
    await fixture.start()
    await fixture.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
    await fixture.clock.advance(10_000)
    expect(fixture.storage.created).toHaveLength(1)
    expect(fixture.storage.snapshots.size).toBe(0)
    expect(fixture.takeWire()).toEqual(['addBeingCreated', 'CreateSnapshot', 'status', 'DeleteSnapshot'])
  })

  it('no snapshot remains if the event of the deletion arrives while the creation is prepared again', async () => {
    const fixture = await withLostAnswer()
    fixture.running.lag()
    await fixture.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
    fixture.scripts.set('GetPluginInfo', async () => {
      fixture.running.answerAtOnce()
      await fixture.clock.sleep(1)
      return { name: DRIVER }
    })
    await fixture.clock.advance(60_000)
    expect(fixture.storage.deleted).toEqual(['snap-1'])
  })

  it("no snapshot remains if the answer of CreateSnapshot is lost and the content's finalizers are removed", async () => {
    const fixture = await withLostAnswer()
    await fixture.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
    await fixture.clock.advance(10_000)
    expect(fixture.storage.snapshots.size).toBe(0)
  })

  it.each(['before', 'during'] as const)(
    'a failed DeleteSnapshot is not repeated but reported if the finalizers of the content are removed %s the call',
    async (when) => {
      const fixture = await Fixture.running({ objects: [CLASS, CONTENT] })
      fixture.scripts.set('DeleteSnapshot', async () => {
        if (when === 'during') await fixture.clock.sleep(3_000)
        throw new RpcError(CODES.Internal, 'no')
      })
      await remove(fixture)
      await fixture.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
      fixture.scripts.clear()
      fixture.takeEvents()
      await fixture.clock.advance(60_000)
      expect(fixture.storage.deleted).toEqual([])
      if (when === 'during')
        expect(fixture.takeEvents()).toContain(left('snap-1', 'its finalizers were removed during its deletion'))
    },
  )

  it('a content that loses its finalizers after its creation leaves the snapshot, which an event and the log report', async () => {
    const fixture = await Fixture.running({ objects: [CLASS, CONTENT] })
    await fixture.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
    await fixture.clock.advance(60_000)
    expect(fixture.storage.deleted).toEqual([])
    expect(fixture.events).toEqual([
      {
        target: {
          apiVersion: 'snapshot.storage.k8s.io/v1',
          kind: 'VolumeSnapshot',
          namespace: 'default',
          name: 's',
          uid: UID,
        },
        text: left('snap-1', 'its finalizers were removed'),
      },
    ])
    expect(fixture.log.lines).toContainEqual(
      expect.objectContaining({
        level: 'warning',
        message: 'The snapshot of a snapshot content that is gone may stay in the back end',
        pairs: expect.objectContaining({ content: 'c', handle: 'snap-1', source: 'the volume vol-1' }),
      }),
    )
  })

  it('a content whose deletion waits for its creation leaves the snapshot if its finalizers are removed', async () => {
    const fixture = await duringCreation()
    await remove(fixture)
    await fixture.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', { ...RETAIN, metadata: { finalizers: null } })
    expect(contentOf(fixture)).toBeUndefined()
    await fixture.clock.advance(60_000)
    expect(fixture.storage.deleted).toEqual([])
    expect(fixture.takeEvents()).toEqual([left('snap-1', 'its finalizers were removed during its deletion')])
  })

  it('an uncertain creation whose content is missing in a list is reported by the name of its snapshot', async () => {
    const fixture = await withLostAnswer()
    fixture.takeEvents()
    await unseen(fixture, () => fixture.strip(VOLUME_SNAPSHOT_CONTENTS, 'c'))
    await fixture.clock.advance(60_000)
    expect(fixture.storage.deleted).toEqual([])
    expect(fixture.takeEvents()).toEqual([left(`with the name snapshot-${UID}`, 'its last state is unknown')])
  })

  it('a retained snapshot that is not ready is not reported when its content is deleted', async () => {
    const fixture = new Fixture({ objects: [CLASS, [VOLUME_SNAPSHOT_CONTENTS, vsc('c', RETAIN)]] })
    fixture.storage.ready = false
    await fixture.start()
    await remove(fixture)
    await fixture.clock.advance(60_000)
    expect(contentOf(fixture)).toBeUndefined()
    expect([fixture.takeEvents(), fixture.storage.deleted]).toEqual([[], []])
  })

  it('a snapshot that a person retains while the watch is behind is not reported', async () => {
    const fixture = await Fixture.running({ objects: [CLASS, CONTENT] })
    fixture.running.lag()
    await fixture.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', RETAIN)
    await fixture.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
    fixture.running.answerAtOnce()
    await fixture.clock.advance(60_000)
    expect([fixture.takeEvents(), fixture.storage.deleted]).toEqual([[], []])
  })

  it('a lost content that leaves no snapshot is not reported', async () => {
    const fixture = new Fixture({ objects: [CLASS, CONTENT] })
    fixture.scripts.set('CreateSnapshot', async () => {
      await fixture.clock.sleep(3_000)
      throw new RpcError(CODES.InvalidArgument, 'no')
    })
    await fixture.start()
    await fixture.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', RETAIN)
    await fixture.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
    await fixture.clock.advance(60_000)
    expect(fixture.takeEvents()).toEqual([])
    // The cache no longer has the content, but this run has written the annotation.
    expect(fixture.takeWire()).toEqual(['addBeingCreated', 'CreateSnapshot', 'removeBeingCreated'])
  })

  it('the snapshots of two lost contents of one name are both deleted', async () => {
    const fixture = await withLostAnswer()
    fixture.scripts.set('DeleteSnapshot', failing(CODES.Internal))
    await fixture.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
    fixture.scripts.set('CreateSnapshot', ({ name }: CreateSnapshotRequest) => {
      fixture.storage.create(name, ['vol-1'])
      throw new RpcError(CODES.DeadlineExceeded, 'context deadline exceeded')
    })
    await fixture.storeObject(VOLUME_SNAPSHOT_CONTENTS, vsc('c', { spec: { volumeSnapshotRef: { uid: `${UID}2` } } }))
    await fixture.clock.advance(5_000)
    await fixture.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
    await fixture.clock.advance(5_000)
    expect(fixture.storage.snapshots.size).toBe(2)
    fixture.scripts.clear()
    await fixture.clock.advance(100_000)
    expect(fixture.storage.snapshots.size).toBe(0)
  })

  it('the snapshot stays, and is reported, if the annotation cannot be removed and a user removes the finalizers', async () => {
    const fixture = new Fixture({ objects: [CLASS, CONTENT] })
    const refusals = Array.from({ length: 9 }, () => apiError(500, 'InternalError', 'no'))
    fixture.refusals.set('removeBeingCreated', refusals)
    await fixture.start()
    await remove(fixture)
    await fixture.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
    await fixture.clock.advance(20_000)
    expect(fixture.storage.deleted).toEqual([])
    expect(fixture.takeEvents()).toEqual([left('snap-1', 'its finalizers were removed during its deletion')])
  })

  it('the snapshotter keeps the snapshot for a content that is recreated for the same VolumeSnapshot', async () => {
    const fixture = new Fixture({ objects: [CLASS, CONTENT] })
    fixture.scripts.set('CreateSnapshot', () => fixture.clock.sleep(3_000))
    await fixture.start()
    await fixture.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
    await fixture.storeObject(...CONTENT)
    await fixture.clock.advance(20_000)
    expect(fixture.storage.created).toHaveLength(1)
    expect(fixture.storage.deleted).toEqual([])
    expect(contentOf(fixture)?.status).toMatchObject({ snapshotHandle: 'snap-1', readyToUse: true })
  })

  it('no snapshot is left if the recreated content is deleted before it takes over the snapshot', async () => {
    const fixture = new Fixture({ objects: [CLASS, CONTENT] })
    fixture.scripts.set('CreateSnapshot', () => fixture.clock.sleep(3_000))
    await fixture.start()
    await fixture.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
    await fixture.storeObject(...CONTENT)
    await remove(fixture)
    await fixture.clock.advance(20_000)
    expect(fixture.storage.snapshots.size).toBe(0)
    expect(contentOf(fixture)).toBeUndefined()
  })

  it('no snapshot is left if the class of a recreated content is missing and the content is deleted', async () => {
    const fixture = new Fixture({ objects: [CLASS, CONTENT] })
    fixture.scripts.set('CreateSnapshot', () => fixture.clock.sleep(3_000))
    await fixture.start()
    await fixture.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
    await fixture.storeObject(VOLUME_SNAPSHOT_CONTENTS, vsc('c', { spec: { volumeSnapshotClassName: 'missing' } }))
    await fixture.clock.advance(10_000)
    await remove(fixture)
    await fixture.clock.advance(20_000)
    expect(fixture.storage.snapshots.size).toBe(0)
    expect(contentOf(fixture)).toBeUndefined()
  })
})

describe('contents that leave the cache', () => {
  it('the snapshotter sends no call for a content that another driver takes over', async () => {
    const fixture = await withLostAnswer()
    await fixture.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', { spec: { driver: 'other.example.com' } })
    await fixture.clock.advance(20_000)
    expect(fixture.takeWire()).toEqual([])
    expect(fixture.storage.snapshots.size).toBe(1)
    await fixture.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', { spec: { driver: DRIVER } })
    expect(contentOf(fixture)?.status).toMatchObject({ snapshotHandle: 'snap-1', readyToUse: true })
  })

  it('the snapshotter sends no call for a deleted content until it can read that the content is gone', async () => {
    const fixture = await withLostAnswer()
    const { gate } = fixture.running
    const pass = gate.pass.bind(gate)
    gate.pass = (outgoing, effect, passing) =>
      pass(outgoing, outgoing.request?.verb === 'get' ? unreadable : effect, passing)
    await fixture.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
    await fixture.clock.advance(20_000)
    expect(fixture.takeWire()).toEqual([])
    gate.pass = pass
    await fixture.clock.advance(60_000)
    expect(fixture.takeWire()).toEqual(['CreateSnapshot', 'DeleteSnapshot'])
    expect(fixture.storage.snapshots.size).toBe(0)
  })

  const annotations = { [SNAPSHOT_NAMES.beingCreated]: 'yes' }
  const foreignClass = [VOLUME_SNAPSHOT_CLASSES, snapshotClass('k', { driver: 'other.example.com' })] as const
  const memberAnnotations = { ...annotations, [MEMBER_ANNOTATION]: 'group-1' }
  it.each<[name: string, objects: FixtureOptions['objects']]>([
    [
      'whose class belongs to another driver',
      [foreignClass, [VOLUME_SNAPSHOT_CONTENTS, vsc('c', { metadata: { annotations } })]],
    ],
    [
      'of a pre-provisioned snapshot with Retain',
      [[VOLUME_SNAPSHOT_CONTENTS, preProvisioned('c', { ...RETAIN, metadata: { annotations } })]],
    ],
    [
      'of a group member',
      [CLASS, [VOLUME_SNAPSHOT_CONTENTS, vsc('c', { metadata: { annotations: memberAnnotations } })]],
    ],
  ])('a deleted content %s causes no creation, even if it has the annotation', async (_, objects = []) => {
    const fixture = await Fixture.running({ objects })
    fixture.takeWire()
    fixture.takeEvents()
    await fixture.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
    await fixture.clock.advance(20_000)
    expect(fixture.takeWire()).toEqual([])
    expect(fixture.takeEvents()).toEqual([])
  })
})

describe('a repeated creation', () => {
  const REF = { name: 'k' }
  const annotations = { [SNAPSHOT_NAMES.secretName]: 'creds', [SNAPSHOT_NAMES.secretNamespace]: 'default' }

  /** Starts a snapshotter whose CreateSnapshot call with a class and a Secret has an unknown outcome. */
  async function uncertain(): Promise<Fixture> {
    const fixture = new Fixture({
      objects: [
        [VOLUME_SNAPSHOT_CLASSES, snapshotClass('k', { parameters: { tier: 'first' } })],
        [VOLUME_SNAPSHOT_CONTENTS, vsc('c', { metadata: { annotations } })],
        [SECRETS, secret('creds', { user: 'first' })],
      ],
    })
    fixture.scripts.set('CreateSnapshot', failing(CODES.DeadlineExceeded))
    await fixture.start()
    fixture.calls.splice(0)
    return fixture
  }

  it('the call keeps its parameters and reads its Secret again while the outcome of the first call is unknown', async () => {
    const fixture = await uncertain()
    fixture.api.delete(VOLUME_SNAPSHOT_CLASSES, REF)
    await fixture.storeObject(VOLUME_SNAPSHOT_CLASSES, snapshotClass('k', { parameters: { tier: 'second' } }))
    fixture.api.delete(SECRETS, { namespace: 'default', name: 'creds' })
    await fixture.storeObject(SECRETS, secret('creds', { user: 'second' }))
    await fixture.clock.advance(1_000)
    expect(fixture.takeCalls('CreateSnapshot').at(-1)?.request).toMatchObject({
      parameters: { tier: 'first' },
      secrets: { user: 'second' },
    })
  })

  it('the snapshot and its deleted content disappear although the class and the Secret are gone', async () => {
    const fixture = await uncertain()
    await fixture.delete(VOLUME_SNAPSHOT_CLASSES, 'k')
    fixture.scripts.clear()
    await fixture.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', BEING_DELETED)
    await fixture.delete(VOLUME_SNAPSHOT_CONTENTS, 'c')
    await fixture.clock.advance(10_000)
    expect(contentOf(fixture)).toBeUndefined()
    expect(fixture.storage.deleted).toEqual(['snap-1'])
  })

  it('the call has the parameters of the current class after a final failure', async () => {
    const fixture = await uncertain()
    fixture.scripts.set('CreateSnapshot', failing(CODES.InvalidArgument))
    await fixture.clock.advance(1_000)
    await fixture.edit(VOLUME_SNAPSHOT_CLASSES, 'k', { parameters: { tier: 'second' } })
    await fixture.clock.advance(10_000)
    expect(fixture.takeCalls('CreateSnapshot').at(-1)?.request).toMatchObject({ parameters: { tier: 'second' } })
  })
})

describe('late events', () => {
  it('late watch events do not stop the retries of a failed creation', async () => {
    const fixture = new Fixture({ settings: { retryStartMs: 200 }, objects: [CLASS, CONTENT] })
    fixture.scripts.set('CreateSnapshot', failing(CODES.Internal))
    await fixture.start()
    fixture.running.lag()
    fixture.scripts.clear()
    await fixture.clock.advance(400)
    expect(contentOf(fixture)?.status?.readyToUse).toBe(true)
  })
})

describe('a snapshot that a person keeps', () => {
  it('the snapshot stays if the policy becomes Retain during the creation and the finalizers are removed', async () => {
    const fixture = await duringCreation()
    await fixture.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', RETAIN)
    await fixture.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
    await fixture.clock.advance(60_000)
    expect([fixture.storage.created.length, fixture.storage.deleted]).toEqual([1, []])
  })

  it('the snapshot stays if the policy was Retain for a moment during the creation', async () => {
    const fixture = await duringCreation()
    await fixture.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', RETAIN)
    await fixture.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', { spec: { deletionPolicy: 'Delete' } })
    await fixture.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
    await fixture.clock.advance(60_000)
    expect(fixture.storage.deleted).toEqual([])
  })

  it('the snapshot stays if the policy becomes Retain in the write that removes the finalizers', async () => {
    const fixture = await withLostAnswer()
    await fixture.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', { ...RETAIN, metadata: { finalizers: null } })
    await fixture.delete(VOLUME_SNAPSHOT_CONTENTS, 'c')
    await fixture.clock.advance(60_000)
    expect(fixture.storage.deleted).toEqual([])
  })

  it('the snapshot stays if the policy becomes Retain while the watch is away', async () => {
    const fixture = await withLostAnswer()
    await unseen(fixture, async () => {
      await fixture.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', RETAIN)
      await fixture.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
    })
    await fixture.clock.advance(60_000)
    expect(fixture.storage.deleted).toEqual([])
  })

  it.each(['one write', 'two writes while the watch is away'] as const)(
    'a failed DeleteSnapshot is not repeated if Retain is set and the finalizers are removed in %s',
    async (writes) => {
      const fixture = await Fixture.running({ objects: [CLASS, CONTENT] })
      fixture.scripts.set('DeleteSnapshot', failing(CODES.Internal))
      await remove(fixture)
      fixture.scripts.clear()
      const finalizers = { metadata: { finalizers: null } }
      if (writes === 'one write') await fixture.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', { ...RETAIN, ...finalizers })
      else {
        await unseen(fixture, async () => {
          await fixture.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', RETAIN)
          await fixture.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', finalizers)
        })
      }
      await fixture.clock.advance(60_000)
      expect(contentOf(fixture)).toBeUndefined()
      expect(fixture.storage.deleted).toEqual([])
    },
  )

  it('the snapshot stays if the policy becomes Retain before a repeated DeleteSnapshot and the watch is behind', async () => {
    const fixture = await Fixture.running({ objects: [CLASS, CONTENT] })
    fixture.scripts.set('DeleteSnapshot', failing(CODES.Internal))
    await remove(fixture)
    fixture.scripts.clear()
    fixture.running.lag()
    await fixture.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', RETAIN)
    await fixture.clock.advance(60_000)
    expect(fixture.storage.deleted).toEqual([])
    expect(contentOf(fixture)).toBeUndefined()
  })

  it('the group snapshot stays if the policy becomes Retain before a repeated deletion and the watch is behind', async () => {
    const metadata = { annotations: { [GROUP_NAMES.beingDeleted]: '' } }
    const fixture = await Fixture.running({
      objects: [
        [VOLUME_GROUP_SNAPSHOT_CLASSES, groupClass()],
        [VOLUME_GROUP_SNAPSHOT_CONTENTS, vgsc('g', { metadata })],
      ],
    })
    fixture.scripts.set('DeleteVolumeGroupSnapshot', failing(CODES.Internal))
    await fixture.delete(VOLUME_GROUP_SNAPSHOT_CONTENTS, 'g')
    fixture.scripts.clear()
    fixture.running.lag()
    await fixture.edit(VOLUME_GROUP_SNAPSHOT_CONTENTS, 'g', RETAIN)
    await fixture.clock.advance(60_000)
    expect(fixture.storage.deleted).toEqual([])
    expect(fixture.find(VOLUME_GROUP_SNAPSHOT_CONTENTS, { name: 'g' })).toBeUndefined()
  })

  it('the snapshotter reads a changed content with growing pauses while its cache does not accept the new state', async () => {
    const fixture = await Fixture.running({ objects: [CLASS, CONTENT] })
    fixture.scripts.set('DeleteSnapshot', failing(CODES.Internal))
    await remove(fixture)
    fixture.scripts.clear()
    fixture.running.lag()
    fixture.running.rejectReads()
    await fixture.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', RETAIN)
    fixture.api.served.splice(0)
    await fixture.clock.advance(30_000)
    expect(fixture.api.served.filter(({ verb }) => verb === 'get').length).toBeLessThanOrEqual(5)
    expect(fixture.storage.deleted).toEqual([])
  })

  it('the snapshotter sends no DeleteSnapshot until it can read the content', async () => {
    const fixture = await Fixture.running({ objects: [CLASS, CONTENT] })
    const { gate } = fixture.running
    const pass = gate.pass.bind(gate)
    gate.pass = (outgoing, effect, passing) =>
      pass(outgoing, outgoing.request?.verb === 'get' ? unreadable : effect, passing)
    fixture.takeWire()
    await remove(fixture)
    await fixture.clock.advance(60_000)
    expect(fixture.takeWire()).toEqual([])
    expect(fixture.takeEvents()).toContain('Warning SnapshotDeleteError: Failed to read snapshot content')
    gate.pass = pass
    await fixture.clock.advance(100_000)
    expect(fixture.takeWire()).toEqual(['DeleteSnapshot', 'clear', 'release'])
  })

  it('a snapshot that another content names stays until the last of its contents is deleted', async () => {
    const fixture = await Fixture.running({ objects: [CLASS, CONTENT] })
    await fixture.storeObject(
      VOLUME_SNAPSHOT_CONTENTS,
      preProvisioned('copy', { spec: { source: { snapshotHandle: 'snap-1' } } }),
    )
    fixture.takeWire()
    await remove(fixture)
    expect(contentOf(fixture)).toBeUndefined()
    expect(fixture.takeWire()).toEqual(['clear', 'release'])
    await remove(fixture, 'copy')
    expect(fixture.storage.deleted).toEqual(['snap-1'])
  })

  it('the snapshot of two contents that are deleted at the same time is deleted once', async () => {
    const copy = preProvisioned('copy', { spec: { source: { snapshotHandle: 'snap-1' } } })
    const fixture = await Fixture.running({ objects: [CLASS, CONTENT, [VOLUME_SNAPSHOT_CONTENTS, copy]] })
    fixture.running.lag()
    await remove(fixture)
    await remove(fixture, 'copy')
    fixture.running.answerAtOnce()
    await fixture.clock.settle()
    expect(fixture.takeCalls('DeleteSnapshot')).toHaveLength(1)
    expect(contentOf(fixture)).toBeUndefined()
    expect(fixture.find(VOLUME_SNAPSHOT_CONTENTS, { name: 'copy' })).toBeUndefined()
  })
})

describe('a recreated content', () => {
  it('the creation waits while DeleteSnapshot of the earlier content of its VolumeSnapshot is uncertain', async () => {
    const fixture = await withLostAnswer()
    fixture.scripts.set('DeleteSnapshot', failing(CODES.DeadlineExceeded))
    await fixture.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
    await fixture.storeObject(...CONTENT)
    fixture.takeWire()
    await fixture.clock.advance(30_000)
    expect(fixture.wire).not.toContain('CreateSnapshot')
    fixture.scripts.clear()
    await fixture.clock.advance(60_000)
    expect(fixture.storage.deleted).toEqual(['snap-1'])
    expect(contentOf(fixture)?.status).toMatchObject({ snapshotHandle: 'snap-2', readyToUse: true })
  })
})
