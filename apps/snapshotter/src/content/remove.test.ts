import { CODES, RpcError } from '@csi-sidecars/csi'
import {
  SECRETS,
  VOLUME_GROUP_SNAPSHOT_CLASSES,
  VOLUME_GROUP_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOT_CLASSES,
  VOLUME_SNAPSHOT_CONTENTS,
} from '@csi-sidecars/kube-types'
import { secret } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { GROUP_NAMES, SNAPSHOT_NAMES } from '../caches/names.ts'
import { given, groupClass, snapshotClass, UID, vgsc, vsc } from '../testing/objects.ts'
import { apiError, World } from '../testing/world.ts'

const CLASS = [VOLUME_SNAPSHOT_CLASSES, snapshotClass()] as const
const CONTENT = [VOLUME_SNAPSHOT_CONTENTS, vsc()] as const
const BEING_DELETED = { metadata: { annotations: { [SNAPSHOT_NAMES.beingDeleted]: 'yes' } } }

/** The user deletes the VolumeSnapshot: the snapshot-controller marks and deletes the content. */
async function remove(world: World, name = 'c'): Promise<void> {
  await world.edit(VOLUME_SNAPSHOT_CONTENTS, name, BEING_DELETED)
  await world.delete(VOLUME_SNAPSHOT_CONTENTS, name)
}

const contentOf = (world: World) => world.find(VOLUME_SNAPSHOT_CONTENTS, { name: 'c' })

describe('the deletion of a content', () => {
  it('deletes the snapshot, clears the status and removes the finalizer', async () => {
    const world = await World.running({ objects: [CLASS, CONTENT] })
    world.takeWire()
    await remove(world)
    expect(world.takeWire()).toEqual(['DeleteSnapshot', 'clear', 'release'])
    expect(contentOf(world)).toBeUndefined()
    expect(world.storage.snapshots.size).toBe(0)
  })

  it('waits for the mark of the snapshot-controller', async () => {
    const world = await World.running({ objects: [CLASS, CONTENT] })
    world.takeWire()
    await world.delete(VOLUME_SNAPSHOT_CONTENTS, 'c')
    await world.clock.advance(100_000)
    expect(world.takeWire()).toEqual([])
  })

  it('keeps a retained snapshot', async () => {
    const content = vsc('c', { spec: { deletionPolicy: 'Retain' } })
    const world = await World.running({ objects: [CLASS, [VOLUME_SNAPSHOT_CONTENTS, content]] })
    world.takeWire()
    await remove(world)
    expect(world.takeWire()).toEqual(['release'])
    expect(world.storage.snapshots.size).toBe(1)
  })

  it('keeps the member of a group snapshot', async () => {
    const status = { snapshotHandle: 'snap-m', volumeGroupSnapshotHandle: 'group-1', readyToUse: true }
    const world = await World.running({ objects: [[VOLUME_SNAPSHOT_CONTENTS, vsc('c', { status })]] })
    await remove(world)
    expect(world.takeWire()).toEqual(['release'])
  })

  it('deletes a given snapshot that was never checked', async () => {
    const content = given('c', { spec: { volumeSnapshotRef: { uid: null } } })
    const world = new World({ objects: [[VOLUME_SNAPSHOT_CONTENTS, content]] })
    world.storage.add('snap-given')
    world.api.delete(VOLUME_SNAPSHOT_CONTENTS, { name: 'c' })
    await world.start()
    expect(world.storage.deleted).toEqual(['snap-given'])
    expect(contentOf(world)).toBeUndefined()
  })

  it('reports each failed try by an event and retries', async () => {
    const world = await World.running({ objects: [CLASS, CONTENT] })
    world.scripts.set('DeleteSnapshot', () => {
      throw new RpcError(CODES.NotFound, 'no such snapshot')
    })
    await remove(world)
    await world.clock.advance(3_000)
    expect(world.takeEvents()).toEqual(Array(3).fill('Warning SnapshotDeleteError: Failed to delete snapshot'))
    world.scripts.clear()
    await world.clock.advance(10_000)
    expect(contentOf(world)).toBeUndefined()
  })

  it('waits for a missing Secret with an event', async () => {
    const annotations = { [SNAPSHOT_NAMES.secretName]: 'creds', [SNAPSHOT_NAMES.secretNamespace]: 'default' }
    const status = { snapshotHandle: 'snap-1', readyToUse: true }
    const content = vsc('c', { metadata: { annotations }, status })
    const world = await World.running({
      settings: { retryStartMs: 20_000 },
      objects: [CLASS, [VOLUME_SNAPSHOT_CONTENTS, content]],
    })
    await remove(world)
    expect(world.takeEvents()).toEqual(['Warning SnapshotDeleteError: Failed to get snapshot credentials'])
    await world.put(SECRETS, secret('creds', { user: 'me' }))
    await world.clock.advance(1_000)
    expect(contentOf(world)).toBeUndefined()
  })

  it('repeats the removal of the finalizer without another call', async () => {
    const world = await World.running({ objects: [CLASS, CONTENT] })
    world.refusals.set('release', [apiError(500, 'InternalError', 'no')])
    world.takeWire()
    await remove(world)
    await world.clock.advance(1_000)
    expect(world.takeWire()).toEqual(['DeleteSnapshot', 'clear', 'release', 'release'])
  })

  it('deletes the group snapshot with the handles of its snapshots', async () => {
    const world = await World.running({
      objects: [
        [VOLUME_GROUP_SNAPSHOT_CLASSES, groupClass()],
        [VOLUME_GROUP_SNAPSHOT_CONTENTS, vgsc('g', { metadata: { annotations: { [GROUP_NAMES.beingDeleted]: '' } } })],
      ],
    })
    world.takeCalls('')
    await world.delete(VOLUME_GROUP_SNAPSHOT_CONTENTS, 'g')
    expect(world.takeCalls('DeleteVolumeGroupSnapshot')).toMatchObject([
      { request: { groupSnapshotId: 'snap-1', snapshotIds: ['snap-1/vol-1', 'snap-1/vol-2'] } },
    ])
    expect(world.find(VOLUME_GROUP_SNAPSHOT_CONTENTS, { name: 'g' })).toBeUndefined()
  })
})

describe('a content that is deleted during the creation of its snapshot', () => {
  it('loses its snapshot within moments of the answer', async () => {
    const contents = Array.from({ length: 16 }, (_, index) =>
      vsc(`c${index}`, {
        spec: { source: { volumeHandle: `vol-${index}` }, volumeSnapshotRef: { uid: `${UID}${index}` } },
      }),
    )
    const world = new World({
      settings: { workers: 16 },
      objects: [CLASS, ...contents.map((each) => [VOLUME_SNAPSHOT_CONTENTS, each] as const)],
    })
    world.scripts.set('CreateSnapshot', () => world.clock.sleep(3_000))
    await world.start()
    for (const { metadata } of contents) await remove(world, metadata?.name)
    expect(world.storage.created).toEqual([])
    await world.clock.advance(4_000)
    expect(world.storage.created).toHaveLength(16)
    expect(world.storage.deleted).toHaveLength(16)
  })

  it('is held up by an uncertain creation, and goes when the creation has failed for sure', async () => {
    const world = new World({ objects: [CLASS, CONTENT] })
    world.scripts.set('CreateSnapshot', () => {
      throw new RpcError(CODES.Aborted, 'pending')
    })
    await world.start()
    await remove(world)
    await world.clock.advance(3_000)
    expect(contentOf(world)).toBeDefined()
    world.scripts.set('CreateSnapshot', () => {
      throw new RpcError(CODES.InvalidArgument, 'no')
    })
    await world.clock.advance(60_000)
    expect(contentOf(world)).toBeUndefined()
  })

  it('leaves no snapshot if its finalizers were removed during the call', async () => {
    const world = new World({ objects: [CLASS, CONTENT] })
    world.scripts.set('CreateSnapshot', () => world.clock.sleep(3_000))
    await world.start()
    await world.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
    await world.clock.advance(10_000)
    expect(world.storage.created).toHaveLength(1)
    expect(world.storage.snapshots.size).toBe(0)
    expect(world.takeWire()).toEqual(['mark', 'CreateSnapshot', 'status', 'DeleteSnapshot'])
  })

  it('leaves no snapshot if the answer was lost and its finalizers were removed', async () => {
    const world = new World({ objects: [CLASS, CONTENT] })
    world.scripts.set('CreateSnapshot', () => {
      world.storage.create(`snapshot-${UID}`, ['vol-1'])
      throw new RpcError(CODES.DeadlineExceeded, 'context deadline exceeded')
    })
    await world.start()
    world.scripts.clear()
    await world.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
    await world.clock.advance(10_000)
    expect(world.storage.snapshots.size).toBe(0)
  })

  it('hands its snapshot on if it is recreated for the same VolumeSnapshot', async () => {
    const world = new World({ objects: [CLASS, CONTENT] })
    world.scripts.set('CreateSnapshot', () => world.clock.sleep(3_000))
    await world.start()
    await world.strip(VOLUME_SNAPSHOT_CONTENTS, 'c')
    await world.put(...CONTENT)
    await world.clock.advance(20_000)
    expect(world.storage.created).toHaveLength(1)
    expect(world.storage.deleted).toEqual([])
    expect(contentOf(world)?.status).toMatchObject({ snapshotHandle: 'snap-1', readyToUse: true })
  })
})

describe('watch events that come late', () => {
  it('do not stop the retries of a failed creation', async () => {
    const world = new World({ settings: { retryStartMs: 200 }, objects: [CLASS, CONTENT] })
    world.scripts.set('CreateSnapshot', () => {
      throw new RpcError(CODES.Internal, 'no')
    })
    await world.start()
    world.running.lag()
    world.scripts.clear()
    await world.clock.advance(400)
    expect(contentOf(world)?.status?.readyToUse).toBe(true)
  })
})
