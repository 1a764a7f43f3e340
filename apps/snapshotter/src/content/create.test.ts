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
import { MEMBER_ANNOTATION, SNAPSHOT_NAMES } from '../caches/names.ts'
import { given, groupClass, snapshotClass, UID, vgsc, vsc } from '../testing/objects.ts'
import { apiError, World, type WorldOptions } from '../testing/world.ts'

const CLASS = [VOLUME_SNAPSHOT_CLASSES, snapshotClass()] as const
const CONTENT = [VOLUME_SNAPSHOT_CONTENTS, vsc()] as const
const REF = { name: 'c' }

const begin = (options: WorldOptions = {}): Promise<World> => World.running({ objects: [CLASS, CONTENT], ...options })

const failing =
  (code: number, message = 'no') =>
  () => {
    throw new RpcError(code, message)
  }

const statusOf = (world: World) => world.find(VOLUME_SNAPSHOT_CONTENTS, REF)?.status

describe('the creation of a snapshot', () => {
  it('marks the content, calls the driver, stores the answer and removes the mark', async () => {
    const world = await begin()
    expect(world.takeWire()).toEqual(['mark', 'CreateSnapshot', 'status', 'unmark'])
    expect(statusOf(world)).toMatchObject({ snapshotHandle: 'snap-1', readyToUse: true, restoreSize: 1024 })
    expect(world.takeEvents()).toEqual([])
  })

  it('causes neither calls nor writes for a ready snapshot at the next start', async () => {
    const world = await begin()
    world.kill()
    world.takeWire()
    await world.start()
    world.running.resync()
    await world.clock.advance(1_000_000)
    expect(world.takeWire()).toEqual([])
  })

  it('polls a snapshot that is not ready without writes until it is ready', async () => {
    const world = new World({ objects: [CLASS, CONTENT] })
    world.storage.ready = false
    await world.start()
    expect(world.takeWire()).toEqual(['mark', 'CreateSnapshot', 'status', 'unmark'])
    await world.clock.advance(8_000)
    expect(world.takeWire()).toEqual(['CreateSnapshot', 'CreateSnapshot', 'CreateSnapshot'])
    world.storage.ready = true
    await world.clock.advance(8_000)
    expect(world.takeWire()).toEqual(['CreateSnapshot', 'status'])
    expect(world.log.lines.filter(({ level }) => level === 'error')).toEqual([])
  })

  it('keeps the mark while the driver may still create the snapshot', async () => {
    const world = new World({ objects: [CLASS, CONTENT] })
    world.scripts.set('CreateSnapshot', failing(CODES.DeadlineExceeded))
    await world.start()
    expect(world.takeWire()).toEqual(['mark', 'CreateSnapshot', 'error'])
    world.scripts.clear()
    await world.clock.advance(1_000)
    expect(world.takeWire()).toEqual(['CreateSnapshot', 'status', 'unmark'])
    expect(statusOf(world)).toMatchObject({ readyToUse: true })
    expect(statusOf(world)?.error).toBeUndefined()
  })

  it('reports a lasting failure once for each of its two reasons', async () => {
    const world = new World({ objects: [CLASS, CONTENT] })
    world.scripts.set('CreateSnapshot', failing(CODES.Internal))
    await world.start()
    await world.clock.advance(100_000)
    const error = 'failed to take snapshot of the volume vol-1: "rpc error: code = Internal desc = no"'
    expect(world.takeEvents()).toEqual([
      `Warning SnapshotCreationFailed: Failed to create snapshot: ${error}`,
      `Warning SnapshotContentCheckandUpdateFailed: Failed to check and update snapshot content: ${error}`,
    ])
    expect(world.takeWire().slice(0, 8)).toEqual([
      ...['mark', 'CreateSnapshot', 'unmark', 'error'],
      ...['mark', 'CreateSnapshot', 'unmark', 'error'],
    ])
    expect(world.events).toEqual([])
  })

  it('sends the parameters of the class, the Secret of the annotations and the metadata', async () => {
    const annotations = { [SNAPSHOT_NAMES.secretName]: 'creds', [SNAPSHOT_NAMES.secretNamespace]: 'default' }
    const parameters = { a: 'b', 'csi.storage.k8s.io/snapshotter-secret-name': 'creds' }
    const world = await begin({
      settings: { extraMetadata: true, snapshotNaming: { prefix: 'p', uidLength: 12 } },
      objects: [
        [VOLUME_SNAPSHOT_CLASSES, snapshotClass('k', { parameters })],
        [VOLUME_SNAPSHOT_CONTENTS, vsc('c', { metadata: { annotations } })],
        [SECRETS, secret('creds', { user: 'me' })],
      ],
    })
    const [call] = world.takeCalls('CreateSnapshot')
    expect(call?.request).toEqual({
      name: `p-${UID.replaceAll('-', '').slice(0, 12)}`,
      sourceVolumeId: 'vol-1',
      secrets: { user: 'me' },
      parameters: {
        a: 'b',
        'csi.storage.k8s.io/volumesnapshot/name': 's',
        'csi.storage.k8s.io/volumesnapshot/namespace': 'default',
        'csi.storage.k8s.io/volumesnapshotcontent/name': 'c',
      },
      accessibilityRequirements: undefined,
    } satisfies CreateSnapshotRequest)
  })

  it.each<[what: string, objects: WorldOptions['objects'], error: string]>([
    [
      'class',
      [CONTENT],
      'failed to get input parameters to create snapshot for content c: "volumesnapshotclass.snapshot.storage.k8s.io \\"k\\" not found"',
    ],
    [
      'class name',
      [[VOLUME_SNAPSHOT_CONTENTS, vsc('c', { spec: { volumeSnapshotClassName: null } })]],
      'failed to get input parameters to create snapshot for content c: "failed to take snapshot c without a snapshot class"',
    ],
    [
      'uid of its VolumeSnapshot',
      [CLASS, [VOLUME_SNAPSHOT_CONTENTS, vsc('c', { spec: { volumeSnapshotRef: { uid: null } } })]],
      'failed to take snapshot of the volume vol-1: "cannot create snapshot. Snapshot content c not bound to a snapshot"',
    ],
  ])('calls no driver and sets no mark for a content without %s', async (_, objects = [], error) => {
    const world = await World.running({ objects })
    expect(world.takeWire()).toEqual(['error'])
    expect(statusOf(world)?.error?.message).toBe(`Failed to create snapshot: ${error}`)
    await world.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', {
      metadata: { annotations: { [SNAPSHOT_NAMES.beingDeleted]: 'yes' } },
    })
    await world.delete(VOLUME_SNAPSHOT_CONTENTS, 'c')
    expect(world.find(VOLUME_SNAPSHOT_CONTENTS, REF)).toBeUndefined()
  })

  it('lets a content go whose class has an unknown reserved parameter', async () => {
    const parameters = { 'csi.storage.k8s.io/x': 'y' }
    const world = await World.running({
      objects: [[VOLUME_SNAPSHOT_CLASSES, snapshotClass('k', { parameters })], CONTENT],
    })
    expect(statusOf(world)?.error?.message).toBe(
      'Failed to create snapshot: failed to remove CSI Parameters of prefixed keys: found unknown parameter key "csi.storage.k8s.io/x" with reserved namespace csi.storage.k8s.io/',
    )
    await world.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', {
      metadata: { annotations: { [SNAPSHOT_NAMES.beingDeleted]: 'yes' } },
    })
    await world.delete(VOLUME_SNAPSHOT_CONTENTS, 'c')
    expect(world.find(VOLUME_SNAPSHOT_CONTENTS, REF)).toBeUndefined()
  })

  it('sets no mark if the driver does not say its name', async () => {
    const world = new World({ objects: [CLASS, CONTENT] })
    world.scripts.set('GetPluginInfo', () => ({ name: '' }))
    await world.start()
    expect(world.takeWire()).toEqual(['error'])
    expect(statusOf(world)?.error?.message).toBe(
      'Failed to create snapshot: failed to take snapshot of the volume vol-1: "driver name is empty"',
    )
  })

  it('reports an answer without a snapshot as an error and continues with other contents', async () => {
    const other = vsc('d', { spec: { source: { volumeHandle: 'vol-2' }, volumeSnapshotRef: { uid: `${UID}2` } } })
    const world = new World({ objects: [CLASS, CONTENT, [VOLUME_SNAPSHOT_CONTENTS, other]] })
    world.scripts.set('CreateSnapshot', ({ sourceVolumeId }: CreateSnapshotRequest) =>
      sourceVolumeId === 'vol-1' ? { snapshot: undefined } : undefined,
    )
    await world.start()
    expect(statusOf(world)?.error?.message).toMatch(/the driver answered CreateSnapshot without a snapshot/)
    expect(world.find(VOLUME_SNAPSHOT_CONTENTS, { name: 'd' })?.status?.readyToUse).toBe(true)
  })

  it('reports no failure that the loss of the driver causes, and tries again when the driver is back', async () => {
    const world = new World({ objects: [CLASS, CONTENT] })
    await world.startStepwise()
    world.running.gate.open()
    world.running.deliver()
    await world.clock.settle()
    world.running.driver.lose()
    await world.put(VOLUME_SNAPSHOT_CONTENTS, vsc('d', { spec: { volumeSnapshotRef: { uid: `${UID}2` } } }))
    world.running.driver.comeBack()
    world.running.deliver()
    await world.clock.settle()
    expect(world.find(VOLUME_SNAPSHOT_CONTENTS, { name: 'd' })?.status?.readyToUse).toBe(true)
    expect(world.takeEvents()).toEqual([])
  })
})

describe('writes that the API server refuses', () => {
  it('repeats the removal of the mark alone', async () => {
    const world = new World({ objects: [CLASS, CONTENT] })
    world.refusals.set('unmark', [apiError(500, 'InternalError', 'no'), apiError(500, 'InternalError', 'no')])
    await world.start()
    await world.clock.advance(10_000)
    expect(world.takeWire()).toEqual(['mark', 'CreateSnapshot', 'status', 'unmark', 'unmark', 'unmark'])
    expect(world.takeEvents()).toEqual([])
  })

  it('sends no call without the mark', async () => {
    const world = new World({ objects: [CLASS, CONTENT] })
    world.refusals.set('mark', [apiError(403, 'Forbidden', 'no')])
    await world.start()
    expect(world.takeWire()).toEqual(['mark', 'error'])
    expect(statusOf(world)?.error?.message).toBe(
      'Failed to create snapshot: failed to add VolumeSnapshotBeingCreated annotation on the content c: "snapshot controller failed to update c on API server: no"',
    )
  })

  it('repeats the write alone if the status could not be stored', async () => {
    const world = new World({ objects: [CLASS, CONTENT] })
    world.refusals.set('status', [apiError(500, 'InternalError', 'no')])
    await world.start()
    expect(world.takeEvents()).toEqual([
      'Warning SnapshotCreationFailed: Failed to create snapshot: error updating status for volume snapshot content c: snapshot controller failed to update c on API server: no',
    ])
    world.takeWire()
    await world.clock.advance(1_000)
    expect(world.takeWire()).toEqual(['status', 'unmark'])
    expect(statusOf(world)?.readyToUse).toBe(true)
  })
})

describe('a wait', () => {
  const settings = { retryStartMs: 20_000 }

  it('ends at once when the class appears', async () => {
    const world = await World.running({ settings, objects: [CONTENT] })
    await world.put(...CLASS)
    expect(statusOf(world)?.readyToUse).toBe(true)
  })

  it('ends within a second when the Secret appears', async () => {
    const annotations = { [SNAPSHOT_NAMES.secretName]: 'creds', [SNAPSHOT_NAMES.secretNamespace]: 'default' }
    const objects = [CLASS, [VOLUME_SNAPSHOT_CONTENTS, vsc('c', { metadata: { annotations } })]] as const
    const world = await World.running({ settings, objects })
    expect(statusOf(world)?.error?.message).toMatch(/cannot get credentials for snapshot content \\"c\\""$/)
    await world.clock.advance(3_500)
    await world.put(SECRETS, secret('creds', { user: 'me' }))
    await world.clock.advance(1_000)
    expect(statusOf(world)?.readyToUse).toBe(true)
  })

  it('ends when the snapshot-controller writes the handles of the member of a group', async () => {
    const annotations = { [MEMBER_ANNOTATION]: 'group-1' }
    const member = vsc('c', { metadata: { annotations }, spec: { volumeSnapshotClassName: null } })
    const world = await World.running({
      settings,
      objects: [[VOLUME_SNAPSHOT_CONTENTS, member]],
    })
    expect(world.takeWire()).toEqual([])
    expect([...world.running.backlog.pending()]).toMatchObject([
      {
        operation: 'create-snapshot',
        state: 'waiting',
        reason: 'MemberNotReported',
        waitsFor: ['group snapshot group-1'],
      },
    ])
    world.storage.add('snap-m')
    const status = { snapshotHandle: 'snap-m', volumeGroupSnapshotHandle: 'group-1' }
    await world.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', { status })
    expect(world.takeWire()).toEqual(['ListSnapshots', 'status'])
    expect(statusOf(world)?.readyToUse).toBe(true)
    expect([...world.running.backlog.pending()]).toEqual([])
  })
})

describe('a given snapshot', () => {
  it('is believed to exist if the driver lists no snapshots', async () => {
    const world = new World({ objects: [[VOLUME_SNAPSHOT_CONTENTS, given()]] })
    world.storage.lists = false
    await world.start()
    expect(world.takeWire()).toEqual(['status'])
    expect(statusOf(world)).toMatchObject({ snapshotHandle: 'snap-given', readyToUse: true })
  })

  it('fails while the driver does not know it', async () => {
    const world = await World.running({ objects: [[VOLUME_SNAPSHOT_CONTENTS, given()]] })
    expect(statusOf(world)?.error?.message).toBe(
      'Failed to check and update snapshot content: failed to list snapshot for content c: "can not find snapshot for snapshotID snap-given"',
    )
    world.storage.add('snap-given')
    await world.clock.advance(1_000)
    expect(statusOf(world)).toMatchObject({ readyToUse: true, restoreSize: 1024 })
    expect(statusOf(world)?.error).toBeUndefined()
  })
})

describe('a group snapshot', () => {
  const objects = [
    [VOLUME_GROUP_SNAPSHOT_CLASSES, groupClass()],
    [VOLUME_GROUP_SNAPSHOT_CONTENTS, vgsc()],
  ] as const
  const groupStatus = (world: World) => world.find(VOLUME_GROUP_SNAPSHOT_CONTENTS, { name: 'g' })?.status

  it('is created by one call with its list of snapshots', async () => {
    const world = await World.running({ objects })
    expect(world.takeWire()).toEqual(['mark', 'CreateVolumeGroupSnapshot', 'status', 'unmark'])
    expect(groupStatus(world)).toMatchObject({
      volumeGroupSnapshotHandle: 'snap-1',
      readyToUse: true,
      creationTime: '2023-11-14T22:13:20Z',
      volumeSnapshotInfoList: [{ snapshotHandle: 'snap-1/vol-1' }, { snapshotHandle: 'snap-1/vol-2' }],
    })
  })

  it('calls the driver once when its status write meets a conflict', async () => {
    const world = new World({ objects })
    world.refusals.set('status', [apiError(409, 'Conflict', 'the object has been modified')])
    await world.start()
    expect(world.wire).toEqual(['mark', 'CreateVolumeGroupSnapshot', 'status', 'status', 'unmark'])
    expect(groupStatus(world)?.readyToUse).toBe(true)
    expect(world.takeCalls('CreateVolumeGroupSnapshot')).toHaveLength(1)
  })

  it('does not disturb the retries of a single content of the same name', async () => {
    const world = new World({ objects: [CLASS, [VOLUME_SNAPSHOT_CONTENTS, vsc('same')]] })
    world.scripts.set('CreateSnapshot', failing(CODES.Internal))
    await world.start()
    await world.put(VOLUME_GROUP_SNAPSHOT_CLASSES, groupClass())
    await world.put(VOLUME_GROUP_SNAPSHOT_CONTENTS, vgsc('same'))
    world.takeCalls('CreateSnapshot')
    await world.clock.advance(10_000)
    expect(world.takeCalls('CreateSnapshot').length).toBeGreaterThan(1)
  })
})
