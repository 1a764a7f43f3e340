import { deepStrictEqual as equal, ok } from 'node:assert'
import { EVENTS, VOLUME_GROUP_SNAPSHOT_CONTENTS, VOLUME_SNAPSHOT_CONTENTS } from '@csi-sidecars/kube-types'
import { refusal } from '../../harness/api/gate.ts'
import type { TestContext } from '../../harness/context.ts'
import type { Answer, Driver } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
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
  GROUP,
  GROUP_NAME,
  gone,
  groupReady,
  groupSnapshot,
  installCrds,
  listed,
  NAME,
  ready,
  remove,
  type SceneSetup,
  SNAPSHOT,
  scene,
  setStatus,
  snapshot,
  UID,
} from './scene.ts'

/** Tests of the requests to the driver, and of the parts of its answers that are stored. */

const test = testsOf('snapshotter', 'requests')
const QUICK = ['--retry-interval-start=100ms', '--retry-interval-max=100ms']

/** Creates the classes before the snapshotter starts, so that no retry is needed. */
async function begin(
  t: TestContext,
  parameters: Readonly<Record<string, string>> = {},
  setup: SceneSetup = {},
): Promise<Driver> {
  await installCrds(t)
  await createClass(t, parameters)
  await createGroupClass(t, parameters)
  return (await scene(t, setup)).driver
}

const RESERVED = ['snapshotter', 'snapshotter-list', 'group-snapshotter', 'group-snapshotter-get'].flatMap((of) =>
  ['name', 'namespace'].map((key): [string, string] => [`csi.storage.k8s.io/${of}-secret-${key}`, 'x']),
)

test('sends the parameters of the class without the parameters for sidecars', async (t) => {
  const driver = await begin(t, { a: 'b', 'c.io/d': '', ...Object.fromEntries(RESERVED) })
  await createContent(t)
  await createGroup(t)
  await ready(t)
  await groupReady(t)
  const calls = driver.callsOf('CreateSnapshot', 'CreateVolumeGroupSnapshot')
  for (const { request } of calls) equal(request['parameters'], { a: 'b', 'c.io/d': '' })
})

const NAMES: readonly (readonly [args: readonly string[], single: string, group: string])[] = [
  [[], `snapshot-${UID}`, `groupsnapshot-${UID}`],
  [['--snapshot-name-uuid-length=0', '--groupsnapshot-name-uuid-length=0'], 'snapshot-', 'groupsnapshot-'],
  [
    ['--snapshot-name-uuid-length=32', '--groupsnapshot-name-prefix=g', '--groupsnapshot-name-uuid-length=8'],
    `snapshot-${UID.replaceAll('-', '')}`,
    'g-00000000',
  ],
]

for (const [args, single, group] of NAMES) {
  test(`names snapshots ${single} and ${group} with ${args.join(' ') || 'the default flags'}`, async (t) => {
    const driver = await begin(t, {}, { args })
    await createContent(t)
    await createGroup(t)
    await ready(t)
    await groupReady(t)
    equal(driver.callsOf('CreateSnapshot')[0]?.request['name'], single)
    equal(driver.callsOf('CreateVolumeGroupSnapshot')[0]?.request['name'], group)
  })
}

test('sends the names of the group snapshot with --extra-create-metadata', async (t) => {
  const driver = await begin(t, {}, { args: ['--extra-create-metadata'] })
  const name = await createGroup(t)
  await groupReady(t)
  equal(driver.callsOf('CreateVolumeGroupSnapshot')[0]?.request['parameters'], {
    'csi.storage.k8s.io/volumegroupsnapshot/name': 'group',
    'csi.storage.k8s.io/volumegroupsnapshot/namespace': 'default',
    'csi.storage.k8s.io/volumegroupsnapshotcontent/name': name,
  })
})

test('asks for the name of the driver before each creation, within one time limit', async (t) => {
  const driver = await begin(t, {}, { args: ['--timeout=20s'] })
  const before = driver.calls.length
  await createContent(t)
  await createGroup(t)
  await ready(t)
  await groupReady(t)
  const calls = driver.calls.slice(before).filter(({ method }) => method !== 'Probe')
  equal(calls.filter(({ method }) => method === 'GetPluginInfo').length, 2)
  for (const { method, timeoutMs } of calls) ok(timeoutMs > 10_000 && timeoutMs <= 20_000, `${method} ${timeoutMs}`)
})

const annotated = (prefix: string, name: string | undefined, namespace: string | undefined): ContentParts => {
  const key = `${prefix.slice(0, prefix.indexOf('/'))}/deletion-secret-`
  return {
    metadata: {
      annotations: {
        ...(name !== undefined && { [`${key}name`]: name }),
        ...(namespace !== undefined && { [`${key}namespace`]: namespace }),
      },
    },
  }
}

test('sends the annotated Secret with creation and deletion', async (t) => {
  const driver = await begin(t)
  const { name, namespace } = await t.createSecret({ user: 'me', password: 'pw' })
  await createContent(t, annotated(SNAPSHOT, name, namespace))
  const group = await createGroup(t, annotated(GROUP, name, namespace))
  await ready(t)
  await groupReady(t)
  await remove(t)
  await remove(t, group, VOLUME_GROUP_SNAPSHOT_CONTENTS)
  await gone(t)
  await gone(t, group, VOLUME_GROUP_SNAPSHOT_CONTENTS)
  const methods = ['CreateSnapshot', 'CreateVolumeGroupSnapshot', 'DeleteSnapshot', 'DeleteVolumeGroupSnapshot']
  for (const method of methods) {
    equal(
      driver.callsOf(method).map(({ request }) => request['secrets']),
      [{ user: 'me', password: 'pw' }],
    )
  }
})

test('sends no Secret if one of its annotations is missing', async (t) => {
  const driver = await begin(t)
  await createContent(t, annotated(SNAPSHOT, 'none', undefined))
  await createGroup(t, annotated(GROUP, undefined, 'default'))
  await ready(t)
  await groupReady(t)
  for (const { request } of driver.callsOf('CreateSnapshot', 'CreateVolumeGroupSnapshot')) {
    equal(request['secrets'], undefined)
  }
})

test('sends the Secret of the template with checks', async (t) => {
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
  readonly answers: readonly Answer[]
  readonly status: object
}

const STORED: Readonly<Record<string, Stored>> = {
  'a snapshot without a time and a size': {
    answers: [snapshot({ creationTime: undefined, sizeBytes: 0n })],
    status: { snapshotHandle: 'snap-1', readyToUse: true, creationTime: 0 },
  },
  'a snapshot without an id': {
    answers: [snapshot({ snapshotId: '' })],
    status: { snapshotHandle: '', readyToUse: true, restoreSize: 1024 },
  },
  'a snapshot without the handle of its group, which only a check returns': {
    answers: [snapshot({ groupSnapshotId: 'group-1' })],
    status: { snapshotHandle: 'snap-1', readyToUse: true, restoreSize: 1024 },
  },
  'a time whose nanoseconds exceed 64 bits as their lowest 64 bits': {
    answers: [snapshot({ creationTime: { seconds: 253_402_300_799n, nanos: 0 } })],
    status: {
      snapshotHandle: 'snap-1',
      readyToUse: true,
      restoreSize: 1024,
      creationTime: Number(BigInt.asIntN(64, 253_402_300_799n * 1_000_000_000n)),
    },
  },
  'the first handle and time, and a size that comes later': {
    answers: [
      snapshot({ readyToUse: false, sizeBytes: 0n }),
      snapshot({ snapshotId: 'other', sizeBytes: 7n, creationTime: { seconds: 1n, nanos: 0 } }),
    ],
    status: { snapshotHandle: 'snap-1', readyToUse: true, restoreSize: 7 },
  },
}

for (const [what, { answers, status }] of Object.entries(STORED)) {
  test(`stores ${what}`, async (t) => {
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

test('assumes without LIST_SNAPSHOTS that a pre-provisioned snapshot is ready', async (t) => {
  const driver = await begin(t, {}, { controller: ['CREATE_DELETE_SNAPSHOT'] })
  await createGiven(t)
  const { status } = await ready(t)
  equal(driver.callsOf('ListSnapshots'), [])
  equal(status?.snapshotHandle, 'snap-given')
  equal(status?.restoreSize, undefined)
  ok(Math.abs(Number(status?.creationTime) / 1e6 - Date.now()) < 30_000)
})

test('stores the first entry of a listing with its group, but keeps the handle of the spec', async (t) => {
  const driver = await begin(t)
  const entries = [described({ snapshotId: 'x', groupSnapshotId: 'g-1', sizeBytes: 5n }), described({ sizeBytes: 6n })]
  driver.on('ListSnapshots', { reply: { entries: entries.map((each) => ({ snapshot: each })), nextToken: 'more' } })
  await createGiven(t, { spec: { volumeSnapshotRef: { namespace: 'default', name: 'snap' } } })
  const { status } = await ready(t)
  equal([status?.snapshotHandle, status?.volumeGroupSnapshotHandle, status?.restoreSize], ['snap-given', 'g-1', 5])
  equal(await eventsOf(t), [])
})

test('polls a pre-provisioned snapshot until it is ready, with one write for each change', async (t) => {
  await installCrds(t)
  const { driver, snapshotter } = await scene(t, { args: QUICK })
  driver.on('ListSnapshots', (_, nth) => listed({ readyToUse: nth >= 3 }))
  await createGiven(t)
  await ready(t)
  equal(driver.callsOf('ListSnapshots').length, 4)
  equal(snapshotter.gate.writes().length, 2)
})

test('stores the members of a group in the order of the driver, and polls until it is ready', async (t) => {
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
  equal(status?.volumeGroupSnapshotHandle, 'group-1')
  const [first, second] = status?.volumeSnapshotInfoList ?? []
  equal([first?.snapshotHandle, first?.restoreSize, first?.readyToUse], ['s-2', undefined, false])
  equal([second?.snapshotHandle, second?.restoreSize, second?.readyToUse], ['s-1', 1024, true])
  equal(driver.callsOf('CreateVolumeGroupSnapshot').length, 3)
})

test('stores 1970 for a group without a time', async (t) => {
  const driver = await begin(t)
  driver.on('CreateVolumeGroupSnapshot', groupSnapshot({ creationTime: undefined }))
  await createGroup(t)
  equal((await groupReady(t)).status?.creationTime, '1970-01-01T00:00:00Z')
})

test('checks and deletes a pre-provisioned group by the handles of the spec', async (t) => {
  const driver = await begin(t)
  driver.on('GetVolumeGroupSnapshot', groupSnapshot())
  const name = await createGivenGroup(t)
  const { status } = await groupReady(t)
  equal([status?.volumeGroupSnapshotHandle, status?.volumeSnapshotInfoList], ['group-given', undefined])
  await remove(t, name, VOLUME_GROUP_SNAPSHOT_CONTENTS)
  await gone(t, name, VOLUME_GROUP_SNAPSHOT_CONTENTS)
  equal(
    driver.callsOf('DeleteVolumeGroupSnapshot').map(({ request }) => request),
    [{ group_snapshot_id: 'group-given', snapshot_ids: ['given-1', 'given-2'] }],
  )
})

test('sends the annotated Secret with the check of a member', async (t) => {
  const driver = await begin(t)
  driver.on('ListSnapshots', listed({ snapshotId: 'snap-m' }))
  const { name, namespace } = await t.createSecret({ user: 'me' })
  const { metadata } = annotated(SNAPSHOT, name, namespace) as { metadata: { annotations: object } }
  const annotations = { ...metadata.annotations, 'groupsnapshot.storage.k8s.io/volumeGroupSnapshotHandle': 'group-1' }
  const member = await createContent(t, { metadata: { annotations }, spec: { volumeSnapshotClassName: undefined } })
  await setStatus(t, member, { snapshotHandle: 'snap-m', volumeGroupSnapshotHandle: 'group-1' })
  await ready(t)
  equal(driver.callsOf('ListSnapshots')[0]?.request, { snapshot_id: 'snap-m', secrets: { user: 'me' } })
  await remove(t)
  await gone(t)
  equal(driver.callsOf('DeleteSnapshot'), [])
})

test('keeps foreign annotations, finalizers, errors and the handle of the group in its writes', async (t) => {
  const driver = await begin(t)
  const name = await createGiven(t, {
    metadata: { annotations: { mine: 'yes' }, finalizers: ['example.com/mine', `${SNAPSHOT}content-bound-protection`] },
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

test('names itself in events, which are in the namespace default', async (t) => {
  await begin(t, {}, { args: ['--retry-interval-start=1h', '--retry-interval-max=1h'] }).then((driver) =>
    driver.on('CreateSnapshot', { code: 3, message: 'no' }),
  )
  const name = await createContent(t)
  const event = await eventually('the event', async () =>
    (await t.api.list(EVENTS, 'default')).find(({ involvedObject }) => involvedObject.name === name),
  )
  const component = `csi-snapshotter ${t.driverName}`
  equal(
    [event.type, event.source?.component, event.reportingComponent, event.count],
    ['Warning', component, component, 1],
  )
  const { kind, apiVersion, uid } = event.involvedObject
  const content = await t.api.find(VOLUME_SNAPSHOT_CONTENTS, { name })
  equal([kind, apiVersion, uid], ['VolumeSnapshotContent', 'snapshot.storage.k8s.io/v1', content?.metadata?.uid])
})

test('works although events are forbidden', async (t) => {
  await installCrds(t)
  await createClass(t)
  const { driver, snapshotter } = await scene(t, { args: QUICK })
  snapshotter.gate.inject('WRITE events', refusal(403, 'Forbidden', 'no events'))
  driver.on('CreateSnapshot', (_, nth) => (nth < 2 ? { code: 13, message: 'no' } : snapshot()))
  await createContent(t)
  await ready(t)
})
