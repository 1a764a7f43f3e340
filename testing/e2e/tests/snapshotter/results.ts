import { deepStrictEqual as equal, ok } from 'node:assert'
import { EVENTS, VOLUME_SNAPSHOT_CONTENTS } from '@csi-sidecars/kube-types'
import { refusal } from '../../harness/api/gate.ts'
import type { TestContext } from '../../harness/context.ts'
import type { DriverReply, FakeDriver } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import {
  type ContentParts,
  CREATED_NANOSECONDS,
  createClass,
  createContent,
  createGiven,
  createGivenGroup,
  createGroup,
  createGroupClass,
  described,
  eventsOf,
  FINALIZER,
  GROUP,
  GROUP_NAME,
  groupReady,
  groupRemoved,
  groupSnapshot,
  joinGroup,
  listed,
  MEMBER,
  NAME,
  ready,
  remove,
  removed,
  SNAPSHOT,
  type SnapshotterSetup,
  scene,
  secretAnnotations,
  setStatus,
  snapshot,
  snapshotCalls,
  UID,
} from '../../rows/snapshotter/scene.ts'

/** Tests of the requests to the driver, and of the parts of its answers that are stored. */

const test = testsOf('snapshotter', 'requests')
const QUICK = ['--retry-interval-start=100ms', '--retry-interval-max=100ms']

/** Creates the classes before the snapshotter starts, so that no retry is needed. */
async function begin(
  t: TestContext,
  parameters: Readonly<Record<string, string>> = {},
  setup: SnapshotterSetup = {},
): Promise<FakeDriver> {
  await createClass(t, parameters)
  await createGroupClass(t, parameters)
  return (await scene(t, setup)).driver
}

/** Creates a VolumeSnapshotContent and a VolumeGroupSnapshotContent, and waits until both snapshots are ready. */
async function both(t: TestContext, single?: ContentParts, group?: ContentParts): Promise<void> {
  await createContent(t, single)
  await createGroup(t, group)
  await ready(t)
  await groupReady(t)
}

const RESERVED = ['snapshotter', 'snapshotter-list', 'group-snapshotter', 'group-snapshotter-get'].flatMap((of) =>
  ['name', 'namespace'].map((key): [string, string] => [`csi.storage.k8s.io/${of}-secret-${key}`, 'x']),
)

test('the snapshotter sends the class parameters to the driver, except the parameters for sidecars', async (t) => {
  const driver = await begin(t, { a: 'b', 'c.io/d': '', ...Object.fromEntries(RESERVED) })
  await both(t)
  const expected = { a: 'b', 'c.io/d': '' }
  equal(driver.fieldsOf('CreateSnapshot', 'parameters'), [expected])
  equal(driver.fieldsOf('CreateVolumeGroupSnapshot', 'parameters'), [expected])
})

const NAMES: readonly (readonly [args: readonly string[], single: string, group: string])[] = [
  [[], `snapshot-${UID}`, `groupsnapshot-${UID}`],
  [['--snapshot-name-uuid-length=0', '--groupsnapshot-name-uuid-length=0'], 'snapshot-', 'groupsnapshot-'],
  [
    ['--snapshot-name-uuid-length=32', '--groupsnapshot-name-prefix=g', '--groupsnapshot-name-uuid-length=8'],
    `snapshot-${UID.replaceAll('-', '')}`,
    'g-00000000',
  ],
  [['--snapshot-name-prefix=p', '--snapshot-name-uuid-length=10'], 'p-0000000011', `groupsnapshot-${UID}`],
]

for (const [args, single, group] of NAMES) {
  test(`with ${args.join(' ') || 'the default flags'} snapshots are named ${single} and group snapshots ${group}`, async (t) => {
    const driver = await begin(t, {}, { args })
    await both(t)
    equal(driver.fieldsOf('CreateSnapshot', 'name'), [single])
    equal(driver.fieldsOf('CreateVolumeGroupSnapshot', 'name'), [group])
  })
}

test('with --extra-create-metadata the snapshotter sends the names of the VolumeSnapshot and its VolumeSnapshotContent', async (t) => {
  const driver = await begin(t, {}, { args: ['--extra-create-metadata'] })
  await both(t)
  for (const [method, kind, name] of [
    ['CreateSnapshot', 'volumesnapshot', 'snap'],
    ['CreateVolumeGroupSnapshot', 'volumegroupsnapshot', 'group'],
  ] as const) {
    equal(driver.callsOf(method)[0]?.request['parameters'], {
      [`csi.storage.k8s.io/${kind}/name`]: name,
      [`csi.storage.k8s.io/${kind}/namespace`]: 'default',
      [`csi.storage.k8s.io/${kind}content/name`]: t.name(name === 'snap' ? 'content' : name),
    })
  }
})

test('the snapshotter calls GetPluginInfo before each creation, and both calls have the time limit --timeout', async (t) => {
  const driver = await begin(t, {}, { args: ['--timeout=20s'] })
  const before = driver.calls.length
  await both(t)
  const calls = driver.calls.slice(before).filter(({ method }) => method !== 'Probe')
  equal(calls.filter(({ method }) => method === 'GetPluginInfo').length, 2)
  for (const { method, timeoutMs } of calls) ok(timeoutMs > 10_000 && timeoutMs <= 20_000, `${method} ${timeoutMs}`)
})

const annotated = (...secret: Parameters<typeof secretAnnotations>): ContentParts => ({
  metadata: { annotations: secretAnnotations(...secret) },
})

test('CreateSnapshot and DeleteSnapshot get the Secret that the annotations of a VolumeSnapshotContent name', async (t) => {
  const driver = await begin(t)
  const secrets = { user: 'me', password: 'pw' }
  const { name, namespace } = await t.createSecret(secrets)
  await both(t, annotated(SNAPSHOT, name, namespace), annotated(GROUP, name, namespace))
  await removed(t)
  await groupRemoved(t)
  for (const method of ['CreateSnapshot', 'CreateVolumeGroupSnapshot']) {
    equal(driver.fieldsOf(method, 'secrets'), [secrets])
  }
  equal(driver.requestsOf('DeleteSnapshot'), [{ snapshot_id: 'snap-1', secrets }])
  equal(driver.requestsOf('DeleteVolumeGroupSnapshot'), [
    { group_snapshot_id: 'group-1', snapshot_ids: ['s-1', 's-2'], secrets },
  ])
})

test('the snapshotter sends no Secret if the annotation with the name or namespace of the Secret is missing', async (t) => {
  const driver = await begin(t)
  await both(t, annotated(SNAPSHOT, 'none'), annotated(GROUP, undefined, 'default'))
  equal(driver.fieldsOf('CreateSnapshot', 'secrets'), [undefined])
  equal(driver.fieldsOf('CreateVolumeGroupSnapshot', 'secrets'), [undefined])
})

test('ListSnapshots and GetVolumeGroupSnapshot get the Secret whose name the class gives as a template', async (t) => {
  const secret = (what: string, name: string) => ({
    [`csi.storage.k8s.io/${what}-secret-name`]: name,
    [`csi.storage.k8s.io/${what}-secret-namespace`]: 'default',
  })
  const driver = await begin(t, {
    ...secret('snapshotter-list', NAME),
    ...secret('group-snapshotter-get', GROUP_NAME),
  })
  driver.on('ListSnapshots', listed())
  driver.on('GetVolumeGroupSnapshot', groupSnapshot())
  await t.createSecret({ of: 'one' }, 'content')
  await t.createSecret({ of: 'group' }, 'group')
  await createGiven(t, { spec: { volumeSnapshotClassName: t.name('class') } })
  await createGivenGroup(t, { spec: { volumeGroupSnapshotClassName: t.name('class') } })
  await ready(t)
  await groupReady(t)
  equal(driver.callsOf('ListSnapshots')[0]?.request['secrets'], { of: 'one' })
  equal(driver.callsOf('GetVolumeGroupSnapshot')[0]?.request, {
    group_snapshot_id: 'group-given',
    snapshot_ids: ['given-1', 'given-2'],
    secrets: { of: 'group' },
  })
})

interface Stored {
  readonly answers: readonly DriverReply[]
  readonly status: object
}

const STORED: Readonly<Record<string, Stored>> = {
  'creationTime 0 and no restoreSize if the driver returns neither time nor size': {
    answers: [snapshot({ creationTime: undefined, sizeBytes: 0n })],
    status: { snapshotHandle: 'snap-1', readyToUse: true, creationTime: 0 },
  },
  'an empty handle if the driver returns no snapshot ID': {
    answers: [snapshot({ snapshotId: '' })],
    status: { snapshotHandle: '', readyToUse: true, restoreSize: 1024 },
  },
  'no handle of a group if CreateSnapshot returns one': {
    answers: [snapshot({ groupSnapshotId: 'group-1' })],
    status: { snapshotHandle: 'snap-1', readyToUse: true, restoreSize: 1024 },
  },
  'the lowest 64 bits of a time whose nanoseconds exceed 64 bits': {
    answers: [snapshot({ creationTime: { seconds: 253_402_300_799n, nanos: 0 } })],
    status: {
      snapshotHandle: 'snap-1',
      readyToUse: true,
      restoreSize: 1024,
      creationTime: Number(BigInt.asIntN(64, 253_402_300_799n * 1_000_000_000n)),
    },
  },
  'the handle and time of the first answer, and a size that a later answer returns': {
    answers: [
      snapshot({ readyToUse: false, sizeBytes: 0n }),
      snapshot({ snapshotId: 'other', sizeBytes: 7n, creationTime: { seconds: 1n, nanos: 0 } }),
    ],
    status: { snapshotHandle: 'snap-1', readyToUse: true, restoreSize: 7 },
  },
}

for (const [what, { answers, status }] of Object.entries(STORED)) {
  test(`the status of a VolumeSnapshotContent has ${what}`, async (t) => {
    const driver = await begin(t, {}, { args: QUICK })
    driver.on('CreateSnapshot', (_, nth) => answers[Math.min(nth, answers.length - 1)] ?? 'hang')
    await createContent(t)
    const { creationTime, ...stored } = (await ready(t)).status ?? {}
    const hasTime = 'creationTime' in status
    equal(hasTime ? { ...stored, creationTime } : stored, status)
    const raw = await t.api.call<{ status: object }>(
      'GET',
      `/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents/${t.name('content')}`,
    )
    ok(hasTime || String(creationTime).startsWith(CREATED_NANOSECONDS.slice(0, 15)), JSON.stringify(raw))
  })
}

test('a pre-provisioned snapshot is ready at once if the driver lacks LIST_SNAPSHOTS', async (t) => {
  const driver = await begin(t, {}, { controller: ['CREATE_DELETE_SNAPSHOT'] })
  await createGiven(t)
  const { status } = await ready(t)
  equal(driver.callsOf('ListSnapshots'), [])
  equal(status?.snapshotHandle, 'snap-given')
  equal(status?.restoreSize, undefined)
  ok(Math.abs(Number(status?.creationTime) / 1e6 - Date.now()) < 30_000)
})

test('the first entry of ListSnapshots determines the status of a pre-provisioned snapshot, but not its handle', async (t) => {
  const driver = await begin(t)
  const entries = [described({ snapshotId: 'x', groupSnapshotId: 'g-1', sizeBytes: 5n }), described({ sizeBytes: 6n })]
  driver.on('ListSnapshots', { reply: { entries: entries.map((each) => ({ snapshot: each })), nextToken: 'more' } })
  await createGiven(t, { spec: { volumeSnapshotRef: { namespace: 'default', name: 'snap' } } })
  const { status } = await ready(t)
  equal([status?.snapshotHandle, status?.volumeGroupSnapshotHandle, status?.restoreSize], ['snap-given', 'g-1', 5])
  equal(await eventsOf(t), [])
})

test('the snapshotter calls ListSnapshots until a pre-provisioned snapshot is ready', async (t) => {
  const { driver, snapshotter } = await scene(t, { args: QUICK })
  driver.on('ListSnapshots', (_, nth) => listed({ readyToUse: nth >= 3 }))
  await createGiven(t)
  equal((await ready(t)).status?.snapshotHandle, 'snap-given')
  equal(driver.requestsOf('ListSnapshots'), Array(4).fill({ snapshot_id: 'snap-given' }))
  equal(snapshotter.gate.writes().length, 2)
})

test('the status of a group snapshot lists the snapshots in the order of the driver', async (t) => {
  const snapshots = [
    described({ snapshotId: 's-2', sourceVolumeId: 'vol-2', sizeBytes: 0n, readyToUse: false }),
    described({ snapshotId: 's-1', sourceVolumeId: 'vol-1' }),
  ]
  const driver = await begin(t, {}, { args: QUICK })
  driver.on('CreateVolumeGroupSnapshot', (_, nth) =>
    nth < 2 ? groupSnapshot({ snapshots, readyToUse: false }) : groupSnapshot({ groupSnapshotId: 'other' }),
  )
  await createGroup(t)
  const { status } = await groupReady(t)
  equal([status?.volumeGroupSnapshotHandle, status?.creationTime], ['group-1', '2023-11-14T22:13:20Z'])
  const [first, second] = status?.volumeSnapshotInfoList ?? []
  equal([first?.volumeHandle, second?.volumeHandle], ['vol-2', 'vol-1'])
  equal([first?.snapshotHandle, first?.restoreSize, first?.readyToUse], ['s-2', undefined, false])
  equal([second?.snapshotHandle, second?.restoreSize, second?.readyToUse], ['s-1', 1024, true])
  const request = { name: `groupsnapshot-${UID}`, source_volume_ids: ['vol-1', 'vol-2'] }
  equal(driver.requestsOf('CreateVolumeGroupSnapshot'), Array(3).fill(request))
})

test('creationTime of a VolumeGroupSnapshotContent is 1970 if the driver returns no time', async (t) => {
  const driver = await begin(t)
  driver.on('CreateVolumeGroupSnapshot', groupSnapshot({ creationTime: undefined }))
  await createGroup(t)
  equal((await groupReady(t)).status?.creationTime, '1970-01-01T00:00:00Z')
})

test('the snapshotter checks and deletes a pre-provisioned group snapshot with the handles in the spec', async (t) => {
  const driver = await begin(t)
  driver.on('GetVolumeGroupSnapshot', groupSnapshot())
  await createGivenGroup(t)
  const { status } = await groupReady(t)
  equal([status?.volumeGroupSnapshotHandle, status?.volumeSnapshotInfoList], ['group-given', undefined])
  await groupRemoved(t)
  equal(driver.requestsOf('DeleteVolumeGroupSnapshot'), [
    { group_snapshot_id: 'group-given', snapshot_ids: ['given-1', 'given-2'] },
  ])
})

test('ListSnapshots for a group member waits until the snapshot-controller has written the handles', async (t) => {
  const driver = await begin(t)
  driver.on('ListSnapshots', listed({ snapshotId: 'snap-m' }))
  const { name, namespace } = await t.createSecret({ user: 'me' })
  const annotations = { ...secretAnnotations(SNAPSHOT, name, namespace), ...MEMBER }
  const member = await createContent(t, { metadata: { annotations }, spec: { volumeSnapshotClassName: undefined } })
  await pause(300)
  equal(snapshotCalls(driver), [])
  await joinGroup(t, member)
  await ready(t)
  equal(driver.callsOf('ListSnapshots')[0]?.request, { snapshot_id: 'snap-m', secrets: { user: 'me' } })
  await removed(t)
  equal(driver.callsOf('DeleteSnapshot'), [])
})

test('the writes of the snapshotter keep annotations, finalizers and errors of other writers', async (t) => {
  const driver = await begin(t)
  const name = await createGiven(t, {
    metadata: { annotations: { mine: 'yes' }, finalizers: ['example.com/mine', FINALIZER] },
  })
  driver.on('ListSnapshots', listed({ groupSnapshotId: '' }))
  await ready(t)
  await setStatus(t, name, { error: { message: 'theirs' } })
  await remove(t)
  const left = await eventually('our finalizer to go', async () => {
    const found = await t.api.find(VOLUME_SNAPSHOT_CONTENTS, { name })
    return found?.metadata?.finalizers?.length === 1 && found
  })
  equal(left.metadata?.finalizers, ['example.com/mine'])
  equal(left.metadata?.annotations?.['mine'], 'yes')
  equal(left.status, { error: { message: 'theirs' } })
})

test('events of the snapshotter contain the name of the driver in their source', async (t) => {
  const driver = await begin(t, {}, { args: ['--retry-interval-start=1h', '--retry-interval-max=1h'] })
  driver.on('CreateSnapshot', { code: 3, message: 'no' })
  const name = await createContent(t)
  const event = await eventually('the event', async () =>
    (await t.api.list(EVENTS, 'default')).find(({ involvedObject }) => involvedObject.name === name),
  )
  const component = `csi-snapshotter ${t.driverName}`
  equal([event.type, event.count], ['Warning', 1])
  equal([event.source?.component, event.reportingComponent], [component, component])
  const { kind, apiVersion, uid } = event.involvedObject
  const content = await t.api.find(VOLUME_SNAPSHOT_CONTENTS, { name })
  equal([kind, apiVersion, uid], ['VolumeSnapshotContent', 'snapshot.storage.k8s.io/v1', content?.metadata?.uid])
})

test('the snapshotter creates snapshots although the API server forbids its events', async (t) => {
  await createClass(t)
  const { driver, snapshotter } = await scene(t, { args: QUICK })
  snapshotter.gate.inject('WRITE events', refusal(403, 'Forbidden', 'no events'))
  driver.on('CreateSnapshot', (_, nth) => (nth < 2 ? { code: 13, message: 'no' } : snapshot()))
  await createContent(t)
  await ready(t)
})
