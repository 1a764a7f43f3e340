import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { SECRETS, VOLUME_SNAPSHOT_CONTENTS } from '@csi-sidecars/kube-types'
import { secret } from '../../harness/api/objects.ts'
import type { TestContext } from '../../harness/context.ts'
import type { Driver } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import {
  CREATED_NANOSECONDS,
  createClass,
  createContent,
  createGiven,
  createGroup,
  createGroupClass,
  eventsOf,
  failed,
  gone,
  groupReady,
  groupSnapshot,
  installCrds,
  listed,
  ready,
  remove,
  scene,
  setStatus,
  snapshot,
  snapshotCalls,
  UID,
  wire,
} from './scene.ts'

const test = testsOf('snapshotter', 'create')
const INTERNAL = { code: 13, message: 'no' }

test('a snapshot takes three writes and one call', { only: 'ours' }, async (t) => {
  const at = await scene(t)
  await createClass(t, { a: 'b' })
  await createContent(t)
  const { status } = await ready(t)
  equal(wire(at), ['mark', 'CreateSnapshot', 'status', 'unmark'])
  equal(
    { ...status, creationTime: undefined },
    { snapshotHandle: 'snap-1', readyToUse: true, restoreSize: 1024, creationTime: undefined },
  )
  const [call] = snapshotCalls(at.driver)
  equal(call?.request, { name: `snapshot-${UID}`, source_volume_id: 'vol-1', parameters: { a: 'b' } })
  const sent = at.snapshotter.gate.writes('volumesnapshotcontents/status').map(({ bytes }) => bytes.toString())
  match(sent[0] ?? '', new RegExp(`"creationTime":${CREATED_NANOSECONDS}\\b`))
})

test('the name of a snapshot follows the flags for prefix and UID length', async (t) => {
  const args = ['--snapshot-name-prefix=p', '--snapshot-name-uuid-length=10', '--extra-create-metadata']
  const { driver } = await scene(t, { args })
  await createClass(t)
  await createContent(t)
  await ready(t)
  const [call] = snapshotCalls(driver)
  equal(call?.request['name'], `p-${UID.replaceAll('-', '').slice(0, 10)}`)
  equal(call?.request['parameters'], {
    'csi.storage.k8s.io/volumesnapshot/name': 'snap',
    'csi.storage.k8s.io/volumesnapshot/namespace': 'default',
    'csi.storage.k8s.io/volumesnapshotcontent/name': t.name('content'),
  })
})

test('a snapshot that is not ready is polled without a write', { only: 'ours' }, async (t) => {
  const at = await scene(t, {
    args: ['--retry-interval-start=100ms'],
    prepare: (driver) => driver.on('CreateSnapshot', (_, nth) => snapshot({ readyToUse: nth >= 3 })),
  })
  await createClass(t)
  await createContent(t)
  await ready(t)
  equal(wire(at), [
    ...['mark', 'CreateSnapshot', 'status', 'unmark'],
    ...['CreateSnapshot', 'CreateSnapshot', 'CreateSnapshot', 'status'],
  ])
})

test('a failed creation is reported in the status and by an event for each of its two reasons', async (t) => {
  await installCrds(t)
  await createClass(t)
  const { driver } = await scene(t, {
    args: ['--retry-interval-start=100ms'],
    prepare: (each) => each.on('CreateSnapshot', INTERNAL),
  })
  await createContent(t)
  const error = 'failed to take snapshot of the volume vol-1: "rpc error: code = Internal desc = no"'
  await failed(t, `Failed to check and update snapshot content: ${error}`)
  await eventually('both events', async () => (await eventsOf(t)).length === 2)
  equal([...(await eventsOf(t))].sort(), [
    `SnapshotContentCheckandUpdateFailed: Failed to check and update snapshot content: ${error}`,
    `SnapshotCreationFailed: Failed to create snapshot: ${error}`,
  ])
  driver.on('CreateSnapshot', snapshot())
  const { status } = await ready(t)
  equal(status?.error, undefined)
})

test('a class that is created late is used at once', { only: 'ours' }, async (t) => {
  await scene(t, { args: ['--retry-interval-start=20s'] })
  await createContent(t)
  await failed(t, /volumesnapshotclass.snapshot.storage.k8s.io \\"[^"]+\\" not found"$/)
  const since = performance.now()
  await createClass(t)
  await ready(t)
  ok(performance.now() - since < 4_000)
})

test('a Secret that is created late is used within seconds', { only: 'ours' }, async (t) => {
  const { driver } = await scene(t, { args: ['--retry-interval-start=20s'] })
  await createClass(t)
  const annotations = {
    'snapshot.storage.kubernetes.io/deletion-secret-name': t.name('creds'),
    'snapshot.storage.kubernetes.io/deletion-secret-namespace': 'default',
  }
  await createContent(t, { metadata: { annotations } })
  await failed(t, /cannot get credentials for snapshot content/)
  const since = performance.now()
  await t.create(SECRETS, secret('default', t.name('creds'), { user: 'me' }))
  await ready(t)
  ok(performance.now() - since < 4_000)
  equal(snapshotCalls(driver).length, 1)
})

test('a pre-provisioned snapshot is checked by ListSnapshots', async (t) => {
  const { driver } = await scene(t, {
    prepare: (each) => each.on('ListSnapshots', listed({ snapshotId: 'snap-given' })),
  })
  await createGiven(t)
  const { status } = await ready(t)
  equal(status?.snapshotHandle, 'snap-given')
  equal(
    snapshotCalls(driver).map(({ request }) => request),
    [{ snapshot_id: 'snap-given' }],
  )
})

test('the member of a group is checked when the snapshot-controller has written its handles', async (t) => {
  const { driver } = await scene(t, { prepare: (each) => each.on('ListSnapshots', listed({ snapshotId: 'snap-m' })) })
  const annotations = { 'groupsnapshot.storage.k8s.io/volumeGroupSnapshotHandle': 'group-1' }
  const name = await createContent(t, { metadata: { annotations }, spec: { volumeSnapshotClassName: undefined } })
  await pause(300)
  equal(snapshotCalls(driver), [])
  await setStatus(t, name, { snapshotHandle: 'snap-m', volumeGroupSnapshotHandle: 'group-1' })
  await ready(t)
})

test('a group snapshot is created, and its status lists the member snapshots', async (t) => {
  const { driver } = await scene(t)
  await createGroupClass(t)
  await createGroup(t)
  const { status } = await groupReady(t)
  equal(status?.volumeGroupSnapshotHandle, 'group-1')
  equal(status?.creationTime, '2023-11-14T22:13:20Z')
  equal(
    status?.volumeSnapshotInfoList?.map(({ volumeHandle, snapshotHandle }) => [volumeHandle, snapshotHandle]),
    [
      ['vol-1', 's-1'],
      ['vol-2', 's-2'],
    ],
  )
  const [call] = snapshotCalls(driver)
  equal(call?.request, { name: `groupsnapshot-${UID}`, source_volume_ids: ['vol-1', 'vol-2'] })
})

test('a conflict of the status write causes no second call to the driver', { only: 'ours' }, async (t) => {
  const at = await scene(t)
  const CONFLICT = {
    kind: 'answer',
    code: 409,
    body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 409, reason: 'Conflict', message: 'changed' },
  } as const
  at.snapshotter.gate.inject('PATCH volumegroupsnapshotcontents/status', CONFLICT, { times: 1 })
  await createGroupClass(t)
  await createGroup(t)
  await groupReady(t)
  equal(snapshotCalls(at.driver).length, 1)
})

test('a refused removal of the annotation is repeated without another call', { only: 'ours' }, async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=100ms'] })
  const REFUSED = {
    kind: 'answer',
    code: 403,
    body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 403, reason: 'Forbidden', message: 'no' },
  } as const
  at.snapshotter.gate.inject('PATCH volumesnapshotcontents', REFUSED, {
    times: 2,
    where: ({ body }) => JSON.stringify(body).includes('null'),
  })
  await createClass(t)
  await createContent(t)
  await ready(t)
  equal(wire(at), ['mark', 'CreateSnapshot', 'status', 'unmark', 'unmark', 'unmark'])
  equal(await eventsOf(t), [])
})

test('contents of other drivers, without source or with the class of another driver are left alone', async (t) => {
  const at = await scene(t)
  await createContent(t, { spec: { driver: 'other.example.com' } })
  await createClass(t)
  await createContent(t, {
    what: 'own',
    spec: { volumeSnapshotRef: { namespace: 'default', name: 's', uid: `${UID}2` } },
  })
  await ready(t, t.name('own'))
  equal(snapshotCalls(at.driver).length, 1)
  equal(await eventsOf(t), [])
})

test('a ready snapshot causes neither calls nor writes after a restart', async (t) => {
  const first = await scene(t)
  await createClass(t)
  await createContent(t)
  await ready(t)
  await first.snapshotter.endBy('SIGKILL')
  first.driver.calls.length = 0
  const second = await scene(t, { driver: first.driver })
  await createContent(t, {
    what: 'later',
    spec: { volumeSnapshotRef: { namespace: 'default', name: 's', uid: `${UID}2` } },
  })
  await ready(t, t.name('later'))
  equal(snapshotCalls(second.driver).length, 1)
  equal(
    new Set(second.snapshotter.gate.writes('volumesnapshotcontents').map(({ name }) => name)),
    new Set([t.name('later')]),
  )
})

test('after a kill, the next process repeats an uncertain creation with the same name', async (t) => {
  const first = await scene(t, { prepare: (driver) => driver.on('CreateSnapshot', 'hang') })
  await createClass(t)
  await createContent(t)
  await eventually('the call', () => snapshotCalls(first.driver).length === 1)
  await first.snapshotter.endBy('SIGKILL')
  const second = await scene(t, { driver: first.driver })
  await ready(t)
  const names = snapshotCalls(second.driver).map(({ request }) => request['name'])
  equal(names, [`snapshot-${UID}`, `snapshot-${UID}`])
  equal(second.snapshotter.gate.writes('volumesnapshotcontents').length, 1)
})

test('with --node-deployment, a content is worked on when its label names the node', { only: 'ours' }, async (t) => {
  const label = 'snapshot.storage.kubernetes.io/managed-by'
  const env = { ...process.env, NODE_NAME: t.name('node') }
  const { driver } = await scene(t, { args: ['--node-deployment'], env })
  await createClass(t)
  await createGroupClass(t)
  await createGroup(t, { metadata: { labels: { [label]: t.name('node') } } })
  await groupReady(t)
  await createContent(t)
  await pause(300)
  equal(driver.callsOf('CreateSnapshot'), [])
  await t.api.merge(
    VOLUME_SNAPSHOT_CONTENTS,
    { name: t.name('content') },
    { metadata: { labels: { [label]: t.name('node') } } },
  )
  await ready(t)
})

const EMPTY: Readonly<Record<string, (t: TestContext, driver: Driver) => Promise<unknown>>> = {
  'CreateSnapshot without a snapshot': (t, driver) => {
    driver.on('CreateSnapshot', { reply: { snapshot: undefined } })
    return createContent(t)
  },
  'ListSnapshots with an entry without a snapshot': (t, driver) => {
    driver.on('ListSnapshots', { reply: { entries: [{ snapshot: undefined }], nextToken: '' } })
    return createGiven(t)
  },
}

for (const [what, begin] of Object.entries(EMPTY)) {
  test(`reports an answer to ${what}, and works on`, { only: 'ours' }, async (t) => {
    await installCrds(t)
    await createClass(t)
    const { driver } = await scene(t, { args: ['--retry-interval-start=100ms'] })
    await begin(t, driver)
    await failed(t, new RegExp(`the driver answered ${what}`))
    driver.on('CreateSnapshot', snapshot())
    driver.on('ListSnapshots', listed())
    await ready(t)
  })
}

test('reports an answer without a group snapshot, and continues', { only: 'ours' }, async (t) => {
  await installCrds(t)
  await createGroupClass(t)
  const { driver } = await scene(t, { args: ['--retry-interval-start=100ms'] })
  driver.on('CreateVolumeGroupSnapshot', { reply: { groupSnapshot: undefined } })
  const name = await createGroup(t)
  await eventually('the event', async () =>
    (await eventsOf(t, name)).some((text) => text.includes('CreateVolumeGroupSnapshot without a group snapshot')),
  )
  driver.on('CreateVolumeGroupSnapshot', groupSnapshot())
  await groupReady(t)
})

test('an error without a message in the status does not end the process', { only: 'ours' }, async (t) => {
  await installCrds(t)
  await createClass(t)
  const name = await createContent(t)
  await setStatus(t, name, { readyToUse: false, error: {} })
  const { driver } = await scene(t, { prepare: (each) => each.on('CreateSnapshot', INTERNAL) })
  await failed(t, /desc = no/)
  equal(driver.callsOf('CreateSnapshot').length, 1)
})

test('retries a failed creation although watch events are late', { only: 'ours' }, async (t) => {
  await installCrds(t)
  await createClass(t)
  const { driver, snapshotter } = await scene(t, { args: ['--retry-interval-start=200ms'] })
  driver.on('CreateSnapshot', INTERNAL)
  await createContent(t)
  await eventually('the first call', () => driver.callsOf('CreateSnapshot').length === 1)
  const release = snapshotter.gate.holdWatches('volumesnapshotcontents')
  await eventually('a second call', () => driver.callsOf('CreateSnapshot').length >= 2)
  release()
})

test('a group content does not stop the retries of a content with the same name', { only: 'ours' }, async (t) => {
  await installCrds(t)
  await createClass(t)
  await createGroupClass(t)
  const { driver } = await scene(t, { args: ['--retry-interval-start=1s', '--retry-interval-max=1s'] })
  driver.on('CreateSnapshot', INTERNAL)
  await createContent(t, { what: 'same' })
  await failed(t, /desc = no/, t.name('same'))
  await createGroup(t, { what: 'same' })
  await groupReady(t, t.name('same'))
  const before = driver.callsOf('CreateSnapshot').length
  await eventually('two more calls', () => driver.callsOf('CreateSnapshot').length >= before + 2)
})

test('sets no annotation if the class has an unknown reserved parameter', { only: 'ours' }, async (t) => {
  const at = await scene(t)
  await createClass(t, { 'csi.storage.k8s.io/x': 'y' })
  await createContent(t)
  await failed(t, /found unknown parameter key "csi.storage.k8s.io\/x"/)
  equal(wire(at), ['error'])
  await remove(t)
  await gone(t)
})
