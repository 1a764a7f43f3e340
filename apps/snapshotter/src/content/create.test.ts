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
import { apiError, Fixture, type FixtureOptions, failing } from '../testing/fixture.ts'
import { DRIVER, groupClass, preProvisioned, snapshotClass, UID, vgsc, vsc } from '../testing/objects.ts'

const CLASS = [VOLUME_SNAPSHOT_CLASSES, snapshotClass()] as const
const CONTENT = [VOLUME_SNAPSHOT_CONTENTS, vsc()] as const
const REF = { name: 'c' }

const begin = (options: FixtureOptions = {}): Promise<Fixture> =>
  Fixture.running({ objects: [CLASS, CONTENT], ...options })

const statusOf = (fixture: Fixture) => fixture.find(VOLUME_SNAPSHOT_CONTENTS, REF)?.status

describe('creation', () => {
  it('the snapshotter annotates the content, calls the driver, stores the answer and removes the annotation', async () => {
    const fixture = await begin()
    expect(fixture.takeWire()).toEqual(['addBeingCreated', 'CreateSnapshot', 'status', 'removeBeingCreated'])
    expect(statusOf(fixture)).toMatchObject({ snapshotHandle: 'snap-1', readyToUse: true, restoreSize: 1024 })
    expect(fixture.takeEvents()).toEqual([])
  })

  it('the status write contains the creation time with all digits of its nanoseconds', async () => {
    const { api } = await begin()
    const write = api.served.find(({ resource }) => resource === 'volumesnapshotcontents/status')
    expect(JSON.stringify(write?.body)).toContain('"creationTime":1700000000000000005,')
  })

  it('the snapshotter sends no calls and no writes for a ready snapshot after a restart', async () => {
    const fixture = await begin()
    fixture.kill()
    fixture.takeWire()
    await fixture.start()
    fixture.running.resync()
    await fixture.clock.advance(1_000_000)
    expect(fixture.takeWire()).toEqual([])
  })

  it('the snapshotter polls a snapshot until it is ready, without writes', async () => {
    const fixture = new Fixture({ objects: [CLASS, CONTENT] })
    fixture.storage.ready = false
    await fixture.start()
    expect(fixture.takeWire()).toEqual(['addBeingCreated', 'CreateSnapshot', 'status', 'removeBeingCreated'])
    await fixture.clock.advance(8_000)
    expect(fixture.takeWire()).toEqual(['CreateSnapshot', 'CreateSnapshot', 'CreateSnapshot'])
    fixture.storage.ready = true
    await fixture.clock.advance(8_000)
    expect(fixture.takeWire()).toEqual(['CreateSnapshot', 'status'])
    expect(fixture.log.lines.filter(({ level }) => level === 'error')).toEqual([])
  })

  it('the annotation being-created stays while the driver may still create the snapshot', async () => {
    const fixture = new Fixture({ objects: [CLASS, CONTENT] })
    fixture.scripts.set('CreateSnapshot', failing(CODES.DeadlineExceeded))
    await fixture.start()
    expect(fixture.takeWire()).toEqual(['addBeingCreated', 'CreateSnapshot', 'error'])
    fixture.scripts.clear()
    await fixture.clock.advance(1_000)
    expect(fixture.takeWire()).toEqual(['CreateSnapshot', 'status', 'removeBeingCreated'])
    expect(statusOf(fixture)).toMatchObject({ readyToUse: true })
    expect(statusOf(fixture)?.error).toBeUndefined()
  })

  it('a driver that asks for a pause of 0 is called with growing pauses', async () => {
    const fixture = new Fixture({ objects: [CLASS, CONTENT] })
    fixture.scripts.set('CreateSnapshot', () => {
      throw new RpcError(CODES.ResourceExhausted, 'full', { retryAfterMs: 0 })
    })
    await fixture.start()
    await fixture.clock.advance(60_000)
    expect(fixture.takeCalls('CreateSnapshot')).toHaveLength(6)
  })

  it('a CreateSnapshot call that fails at each attempt causes only two events', async () => {
    const fixture = new Fixture({ objects: [CLASS, CONTENT] })
    fixture.scripts.set('CreateSnapshot', failing(CODES.Internal))
    await fixture.start()
    await fixture.clock.advance(100_000)
    const error = 'failed to take snapshot of the volume vol-1: "rpc error: code = Internal desc = no"'
    expect(fixture.takeEvents()).toEqual([
      `Warning SnapshotCreationFailed: Failed to create snapshot: ${error}`,
      `Warning SnapshotContentCheckandUpdateFailed: Failed to check and update snapshot content: ${error}`,
    ])
    expect(fixture.takeWire().slice(0, 8)).toEqual([
      ...['addBeingCreated', 'CreateSnapshot', 'removeBeingCreated', 'error'],
      ...['addBeingCreated', 'CreateSnapshot', 'removeBeingCreated', 'error'],
    ])
    expect(fixture.events).toEqual([])
  })

  it('the log names the error of the driver at the first and at each later attempt', async () => {
    const fixture = new Fixture({ objects: [CLASS, CONTENT] })
    fixture.scripts.set('CreateSnapshot', failing(CODES.Internal))
    await fixture.start()
    await fixture.clock.advance(1_000)
    const error = 'rpc error: code = Internal desc = no'
    const failure = `failed to take snapshot of the volume vol-1: "${error}"`
    const returned = `createSnapshotWrapper: CreateSnapshot for content c returned error: ${error}`
    const unsynced = `could not sync content "c": ${failure}`
    const lines = fixture.log.lines.map(({ message }) => message).filter((message) => message.includes(error))
    expect(lines.filter((line) => !line.startsWith('Event('))).toEqual([
      ...[returned, `createSnapshot for content [c]: error occurred in createSnapshotWrapper: ${failure}`, unsynced],
      ...[returned, `checkandUpdateContentStatus [c]: error occurred ${failure}`, unsynced],
    ])
  })

  it('a Secret whose value is not UTF-8 fails the call, and the annotation is removed', async () => {
    const annotations = { [SNAPSHOT_NAMES.secretName]: 'creds', [SNAPSHOT_NAMES.secretNamespace]: 'default' }
    const content = vsc('c', { metadata: { annotations } })
    const binary = { ...secret('creds'), data: { key: '/w==' } }
    const fixture = await begin({ objects: [CLASS, [VOLUME_SNAPSHOT_CONTENTS, content], [SECRETS, binary]] })
    expect(fixture.takeWire()).toEqual(['addBeingCreated', 'removeBeingCreated', 'error'])
    const error = 'rpc error: code = Internal desc = grpc: error while marshaling: string field contains invalid UTF-8'
    const message = `Failed to create snapshot: failed to take snapshot of the volume vol-1: "${error}"`
    expect(fixture.takeEvents()).toEqual([`Warning SnapshotCreationFailed: ${message}`])
  })

  it('the log names a Secret that cannot be read, and the error of the API server', async () => {
    const annotations = { [SNAPSHOT_NAMES.secretName]: 'creds', [SNAPSHOT_NAMES.secretNamespace]: 'default' }
    const fixture = await begin({
      objects: [CLASS, [VOLUME_SNAPSHOT_CONTENTS, vsc('c', { metadata: { annotations } })]],
    })
    const why = 'error getting secret creds in namespace default: secrets "creds" not found'
    const message = `Failed to get credentials for snapshot c: ${why}`
    expect(fixture.log.lines).toContainEqual(expect.objectContaining({ level: 'error', message }))
  })

  it('CreateSnapshot may take the time that GetPluginInfo has left, even if the annotation is written slowly', async () => {
    const fixture = new Fixture({ objects: [CLASS, CONTENT] })
    fixture.scripts.set('GetPluginInfo', async () => {
      await fixture.clock.sleep(20_000)
      return { name: DRIVER }
    })
    await fixture.startStepwise()
    fixture.running.deliver()
    await fixture.clock.advance(20_000)
    expect(fixture.takeWire()).toEqual(['addBeingCreated'])
    await fixture.clock.advance(50_000)
    fixture.running.answerAtOnce()
    await fixture.clock.settle()
    expect(fixture.takeCalls('CreateSnapshot')).toMatchObject([{ timeoutMs: 40_000 }])
  })

  it('CreateSnapshot contains the parameters of the class, the Secret of the annotations and the metadata', async () => {
    const annotations = { [SNAPSHOT_NAMES.secretName]: 'creds', [SNAPSHOT_NAMES.secretNamespace]: 'default' }
    const parameters = { a: 'b', 'csi.storage.k8s.io/snapshotter-secret-name': 'creds' }
    const fixture = await begin({
      settings: { extraMetadata: true, snapshotNaming: { prefix: 'p', uidLength: 12 } },
      objects: [
        [VOLUME_SNAPSHOT_CLASSES, snapshotClass('k', { parameters })],
        [VOLUME_SNAPSHOT_CONTENTS, vsc('c', { metadata: { annotations } })],
        [SECRETS, secret('creds', { user: 'me' })],
      ],
    })
    const [call] = fixture.takeCalls('CreateSnapshot')
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

  it.each<[name: string, objects: FixtureOptions['objects'], error: string]>([
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
  ])('a content without %s causes no CSI call and no annotation', async (_, objects = [], error) => {
    const fixture = await Fixture.running({ objects })
    expect(fixture.takeWire()).toEqual(['error'])
    expect(statusOf(fixture)?.error?.message).toBe(`Failed to create snapshot: ${error}`)
    await fixture.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', {
      metadata: { annotations: { [SNAPSHOT_NAMES.beingDeleted]: 'yes' } },
    })
    await fixture.delete(VOLUME_SNAPSHOT_CONTENTS, 'c')
    expect(fixture.find(VOLUME_SNAPSHOT_CONTENTS, REF)).toBeUndefined()
  })

  it('the snapshotter removes the finalizer of a deleted content even if its class has an unknown reserved parameter', async () => {
    const parameters = { 'csi.storage.k8s.io/x': 'y' }
    const fixture = await Fixture.running({
      objects: [[VOLUME_SNAPSHOT_CLASSES, snapshotClass('k', { parameters })], CONTENT],
    })
    expect(fixture.takeWire()).toEqual(['error'])
    expect(statusOf(fixture)?.error?.message).toBe(
      'Failed to create snapshot: failed to remove CSI Parameters of prefixed keys: found unknown parameter key "csi.storage.k8s.io/x" with reserved namespace csi.storage.k8s.io/',
    )
    await fixture.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', {
      metadata: { annotations: { [SNAPSHOT_NAMES.beingDeleted]: 'yes' } },
    })
    await fixture.delete(VOLUME_SNAPSHOT_CONTENTS, 'c')
    expect(fixture.find(VOLUME_SNAPSHOT_CONTENTS, REF)).toBeUndefined()
  })

  it('the snapshotter sets no annotation if the driver returns an empty name for itself', async () => {
    const fixture = new Fixture({ objects: [CLASS, CONTENT] })
    fixture.scripts.set('GetPluginInfo', () => ({ name: '' }))
    await fixture.start()
    expect(fixture.takeWire()).toEqual(['error'])
    expect(statusOf(fixture)?.error?.message).toBe(
      'Failed to create snapshot: failed to take snapshot of the volume vol-1: "driver name is empty"',
    )
  })

  it('the snapshotter treats an answer without a snapshot as an error, and continues with other contents', async () => {
    const other = vsc('d', { spec: { source: { volumeHandle: 'vol-2' }, volumeSnapshotRef: { uid: `${UID}2` } } })
    const fixture = new Fixture({ objects: [CLASS, CONTENT, [VOLUME_SNAPSHOT_CONTENTS, other]] })
    fixture.scripts.set('CreateSnapshot', ({ sourceVolumeId }: CreateSnapshotRequest) =>
      sourceVolumeId === 'vol-1' ? { snapshot: undefined } : undefined,
    )
    await fixture.start()
    expect(statusOf(fixture)?.error?.message).toMatch(/the driver answered CreateSnapshot without a snapshot/)
    expect(fixture.find(VOLUME_SNAPSHOT_CONTENTS, { name: 'd' })?.status?.readyToUse).toBe(true)
  })

  it('the snapshotter survives a status error without a message, and replaces it at the next failure', async () => {
    const content = vsc('c', { status: { readyToUse: false, error: {} } })
    const fixture = new Fixture({ objects: [CLASS, [VOLUME_SNAPSHOT_CONTENTS, content]] })
    fixture.scripts.set('CreateSnapshot', failing(CODES.Internal))
    await fixture.start()
    expect(statusOf(fixture)?.error?.message).toMatch(/desc = no/)
    expect(fixture.takeCalls('CreateSnapshot')).toHaveLength(1)
  })

  it('the snapshotter reports no failure while the driver is disconnected, and retries after the reconnect', async () => {
    const fixture = new Fixture({ objects: [CLASS, CONTENT] })
    await fixture.startStepwise()
    fixture.running.gate.open()
    fixture.running.deliver()
    await fixture.clock.settle()
    fixture.running.driver.lose()
    await fixture.storeObject(VOLUME_SNAPSHOT_CONTENTS, vsc('d', { spec: { volumeSnapshotRef: { uid: `${UID}2` } } }))
    fixture.running.driver.comeBack()
    fixture.running.deliver()
    await fixture.clock.settle()
    expect(fixture.find(VOLUME_SNAPSHOT_CONTENTS, { name: 'd' })?.status?.readyToUse).toBe(true)
    expect(fixture.takeEvents()).toEqual([])
  })
})

describe('refused writes', () => {
  it('if the API server refuses the removal of the annotation, the snapshotter repeats only the removal', async () => {
    const fixture = new Fixture({ objects: [CLASS, CONTENT] })
    fixture.refusals.set('removeBeingCreated', [
      apiError(500, 'InternalError', 'no'),
      apiError(500, 'InternalError', 'no'),
    ])
    await fixture.start()
    await fixture.clock.advance(10_000)
    expect(fixture.takeWire()).toEqual([
      'addBeingCreated',
      'CreateSnapshot',
      'status',
      'removeBeingCreated',
      'removeBeingCreated',
      'removeBeingCreated',
    ])
    expect(fixture.takeEvents()).toEqual([])
  })

  it('the snapshotter sends no CSI call if the API server refuses the annotation being-created', async () => {
    const fixture = new Fixture({ objects: [CLASS, CONTENT] })
    fixture.refusals.set('addBeingCreated', [apiError(403, 'Forbidden', 'no')])
    await fixture.start()
    expect(fixture.takeWire()).toEqual(['addBeingCreated', 'error'])
    expect(statusOf(fixture)?.error?.message).toBe(
      'Failed to create snapshot: failed to add VolumeSnapshotBeingCreated annotation on the content c: "snapshot controller failed to update c on API server: no"',
    )
  })

  it('if the API server refuses the status write, the snapshotter repeats only that write', async () => {
    const fixture = new Fixture({ objects: [CLASS, CONTENT] })
    fixture.refusals.set('status', [apiError(500, 'InternalError', 'no')])
    await fixture.start()
    expect(fixture.takeEvents()).toEqual([
      'Warning SnapshotCreationFailed: Failed to create snapshot: error updating status for volume snapshot content c: snapshot controller failed to update c on API server: no',
    ])
    fixture.takeWire()
    await fixture.clock.advance(1_000)
    expect(fixture.takeWire()).toEqual(['status', 'removeBeingCreated'])
    expect(statusOf(fixture)?.readyToUse).toBe(true)
  })
})

describe('waiting contents', () => {
  const settings = { retryStartMs: 20_000 }

  it('the snapshotter creates the snapshot at once when the missing class appears', async () => {
    const fixture = await Fixture.running({ settings, objects: [CONTENT] })
    await fixture.storeObject(...CLASS)
    expect(statusOf(fixture)?.readyToUse).toBe(true)
  })

  it('the snapshotter creates the snapshot within a second after the missing Secret appears', async () => {
    const annotations = { [SNAPSHOT_NAMES.secretName]: 'creds', [SNAPSHOT_NAMES.secretNamespace]: 'default' }
    const objects = [CLASS, [VOLUME_SNAPSHOT_CONTENTS, vsc('c', { metadata: { annotations } })]] as const
    const fixture = await Fixture.running({ settings, objects })
    expect(statusOf(fixture)?.error?.message).toMatch(/cannot get credentials for snapshot content \\"c\\""$/)
    await fixture.clock.advance(3_500)
    await fixture.storeObject(SECRETS, secret('creds', { user: 'me' }))
    await fixture.clock.advance(1_000)
    expect(statusOf(fixture)?.readyToUse).toBe(true)
  })

  it('the snapshotter checks a member of a group snapshot after the snapshot-controller has written the handles', async () => {
    const annotations = { [MEMBER_ANNOTATION]: 'group-1' }
    const member = vsc('c', { metadata: { annotations }, spec: { volumeSnapshotClassName: null } })
    const fixture = await Fixture.running({
      settings,
      objects: [[VOLUME_SNAPSHOT_CONTENTS, member]],
    })
    expect(fixture.takeWire()).toEqual([])
    expect([...fixture.running.backlog.pending()]).toMatchObject([
      {
        operation: 'create-snapshot',
        state: 'waiting',
        reason: 'MemberNotReported',
        waitsFor: ['the handles of VolumeSnapshotContent c'],
      },
    ])
    fixture.storage.add('snap-m')
    const status = { snapshotHandle: 'snap-m', volumeGroupSnapshotHandle: 'group-1' }
    await fixture.edit(VOLUME_SNAPSHOT_CONTENTS, 'c', { status })
    expect(fixture.takeWire()).toEqual(['ListSnapshots', 'status'])
    expect(statusOf(fixture)?.readyToUse).toBe(true)
    expect([...fixture.running.backlog.pending()]).toEqual([])
  })

  it('the other members of a group snapshot do not run when one member gets its handles', async () => {
    const annotations = { [MEMBER_ANNOTATION]: 'group-1' }
    const member = (name: string) =>
      [
        VOLUME_SNAPSHOT_CONTENTS,
        vsc(name, { metadata: { annotations }, spec: { volumeSnapshotClassName: null } }),
      ] as const
    const fixture = await Fixture.running({ settings, objects: [member('a'), member('b'), member('c')] })
    fixture.storage.add('snap-a')
    const status = { snapshotHandle: 'snap-a', volumeGroupSnapshotHandle: 'group-1' }
    await fixture.edit(VOLUME_SNAPSHOT_CONTENTS, 'a', { status })
    expect(fixture.takeWire()).toEqual(['ListSnapshots', 'status'])
    expect([...fixture.running.backlog.pending()].map(({ key, tries }) => [key, tries])).toEqual([
      ['b', 1],
      ['c', 1],
    ])
  })
})

describe('pre-provisioned snapshots', () => {
  it('a pre-provisioned snapshot counts as ready if the driver cannot list snapshots', async () => {
    const fixture = new Fixture({ objects: [[VOLUME_SNAPSHOT_CONTENTS, preProvisioned()]] })
    fixture.storage.lists = false
    await fixture.clock.advance(1_234)
    await fixture.start()
    expect(fixture.takeWire()).toEqual(['status'])
    const creationTime = fixture.clock.now() * 1_000_000
    expect(statusOf(fixture)).toMatchObject({ snapshotHandle: 'snap-given', readyToUse: true, creationTime })
  })

  it('a pre-provisioned snapshot shows an error until the driver lists it', async () => {
    const fixture = await Fixture.running({ objects: [[VOLUME_SNAPSHOT_CONTENTS, preProvisioned()]] })
    expect(statusOf(fixture)?.error?.message).toBe(
      'Failed to check and update snapshot content: failed to list snapshot for content c: "can not find snapshot for snapshotID snap-given"',
    )
    fixture.storage.add('snap-given')
    await fixture.clock.advance(1_000)
    expect(statusOf(fixture)).toMatchObject({ readyToUse: true, restoreSize: 1024 })
    expect(statusOf(fixture)?.error).toBeUndefined()
  })

  it('a ListSnapshots entry without a snapshot causes an error and a repeated check', async () => {
    const fixture = new Fixture({ objects: [[VOLUME_SNAPSHOT_CONTENTS, preProvisioned()]] })
    fixture.scripts.set('ListSnapshots', () => ({ entries: [{ snapshot: undefined }], nextToken: '' }))
    await fixture.start()
    expect(statusOf(fixture)?.error?.message).toMatch(
      /the driver answered ListSnapshots with an entry without a snapshot/,
    )
    fixture.scripts.clear()
    fixture.storage.add('snap-given')
    await fixture.clock.advance(1_000)
    expect(statusOf(fixture)?.readyToUse).toBe(true)
  })
})

describe('group snapshots', () => {
  const objects = [
    [VOLUME_GROUP_SNAPSHOT_CLASSES, groupClass()],
    [VOLUME_GROUP_SNAPSHOT_CONTENTS, vgsc()],
  ] as const
  const groupStatus = (fixture: Fixture) => fixture.find(VOLUME_GROUP_SNAPSHOT_CONTENTS, { name: 'g' })?.status

  it('the snapshotter creates a group snapshot with one call and stores its list of snapshots', async () => {
    const fixture = await Fixture.running({ objects })
    expect(fixture.takeWire()).toEqual(['addBeingCreated', 'CreateVolumeGroupSnapshot', 'status', 'removeBeingCreated'])
    expect(groupStatus(fixture)).toMatchObject({
      volumeGroupSnapshotHandle: 'snap-1',
      readyToUse: true,
      creationTime: '2023-11-14T22:13:20Z',
      volumeSnapshotInfoList: [{ snapshotHandle: 'snap-1/vol-1' }, { snapshotHandle: 'snap-1/vol-2' }],
    })
  })

  it('the snapshotter calls the driver only once for a group if the status write conflicts', async () => {
    const fixture = new Fixture({ objects })
    fixture.refusals.set('status', [apiError(409, 'Conflict', 'the object has been modified')])
    await fixture.start()
    expect(fixture.wire).toEqual([
      'addBeingCreated',
      'CreateVolumeGroupSnapshot',
      'status',
      'status',
      'removeBeingCreated',
    ])
    expect(groupStatus(fixture)?.readyToUse).toBe(true)
    expect(fixture.takeCalls('CreateVolumeGroupSnapshot')).toHaveLength(1)
  })

  it('an answer without a group snapshot causes an event, and the creation is repeated', async () => {
    const fixture = new Fixture({ objects })
    fixture.scripts.set('CreateVolumeGroupSnapshot', () => ({ groupSnapshot: undefined }))
    await fixture.start()
    expect(fixture.takeEvents()).toEqual([
      expect.stringContaining('the driver answered CreateVolumeGroupSnapshot without a group snapshot'),
    ])
    fixture.scripts.clear()
    await fixture.clock.advance(1_000)
    expect(groupStatus(fixture)?.readyToUse).toBe(true)
  })

  it('a VolumeGroupSnapshotContent does not disturb the retries of a VolumeSnapshotContent with the same name', async () => {
    const fixture = new Fixture({ objects: [CLASS, [VOLUME_SNAPSHOT_CONTENTS, vsc('same')]] })
    fixture.scripts.set('CreateSnapshot', failing(CODES.Internal))
    await fixture.start()
    await fixture.storeObject(VOLUME_GROUP_SNAPSHOT_CLASSES, groupClass())
    await fixture.storeObject(VOLUME_GROUP_SNAPSHOT_CONTENTS, vgsc('same'))
    fixture.takeCalls('CreateSnapshot')
    await fixture.clock.advance(10_000)
    expect(fixture.takeCalls('CreateSnapshot').length).toBeGreaterThan(1)
  })
})
