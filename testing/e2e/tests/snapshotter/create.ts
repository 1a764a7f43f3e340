import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { SECRETS, VOLUME_SNAPSHOT_CONTENTS } from '@csi-sidecars/kube-types'
import { refusal } from '../../harness/api/gate.ts'
import { secret } from '../../harness/api/objects.ts'
import type { WireRequest } from '../../harness/api/wire.ts'
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
  getContent,
  gone,
  groupReady,
  groupSnapshot,
  groupTaken,
  listed,
  ready,
  remove,
  removed,
  SNAPSHOT,
  scene,
  secretAnnotations,
  setStatus,
  snapshot,
  snapshotCalls,
  taken,
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
  const { creationTime: _, ...stored } = status ?? {}
  equal(stored, { snapshotHandle: 'snap-1', readyToUse: true, restoreSize: 1024 })
  const [call] = snapshotCalls(at.driver)
  equal(call?.request, { name: `snapshot-${UID}`, source_volume_id: 'vol-1', parameters: { a: 'b' } })
  const sent = at.snapshotter.gate.writes('volumesnapshotcontents/status').map(({ bytes }) => bytes.toString())
  match(sent[0] ?? '', new RegExp(`"creationTime":${CREATED_NANOSECONDS}\\b`))
})

test('a snapshot that is not ready is polled without a write', { only: 'ours' }, async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=100ms'] })
  at.driver.on('CreateSnapshot', (_, nth) => snapshot({ readyToUse: nth >= 3 }))
  await taken(t)
  equal(wire(at), [
    ...['mark', 'CreateSnapshot', 'status', 'unmark'],
    ...['CreateSnapshot', 'CreateSnapshot', 'CreateSnapshot', 'status'],
  ])
})

test('a lasting failure is reported once for each of its two reasons, in the status and by events', async (t) => {
  await createClass(t)
  const { driver, snapshotter } = await scene(t, {
    args: ['--retry-interval-start=100ms', '--retry-interval-max=100ms'],
  })
  driver.on('CreateSnapshot', INTERNAL)
  await createContent(t)
  const error = 'failed to take snapshot of the volume vol-1: "rpc error: code = Internal desc = no"'
  await failed(t, `Failed to check and update snapshot content: ${error}`)
  await eventually('six calls', () => driver.callsOf('CreateSnapshot').length >= 6)
  equal(snapshotter.gate.writes('volumesnapshotcontents/status').length, 2)
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
  await createContent(t, { metadata: { annotations: secretAnnotations(SNAPSHOT, t.name('creds'), 'default') } })
  await failed(t, /cannot get credentials for snapshot content/)
  const since = performance.now()
  await t.create(SECRETS, secret('default', t.name('creds'), { user: 'me' }))
  await ready(t)
  ok(performance.now() - since < 4_000)
  equal(snapshotCalls(driver).length, 1)
})

test('a conflict of the status write causes no second call to the driver', { only: 'ours' }, async (t) => {
  const { driver, snapshotter } = await scene(t)
  const conflict = refusal(409, 'Conflict', 'changed')
  const injected = snapshotter.gate.inject('PATCH volumegroupsnapshotcontents/status', conflict, { times: 1 })
  await groupTaken(t)
  equal([injected.count, snapshotCalls(driver).length], [1, 1])
})

test('a refused removal of the annotation is repeated without another call', { only: 'ours' }, async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=100ms'] })
  at.snapshotter.gate.inject('PATCH volumesnapshotcontents', refusal(403, 'Forbidden', 'no'), {
    times: 2,
    where: ({ body }) => JSON.stringify(body).includes('null'),
  })
  await taken(t)
  equal(wire(at), ['mark', 'CreateSnapshot', 'status', 'unmark', 'unmark', 'unmark'])
  equal(await eventsOf(t), [])
})

/** A reference to another VolumeSnapshot, so that the content has a snapshot of its own. */
const ANOTHER = { volumeSnapshotRef: { namespace: 'default', name: 's', uid: `${UID}2` } }

test('contents of other drivers are left alone', async (t) => {
  const at = await scene(t)
  await createContent(t, { spec: { driver: 'other.example.com' } })
  await taken(t, { what: 'own', spec: ANOTHER })
  equal(snapshotCalls(at.driver).length, 1)
  equal(await eventsOf(t), [])
})

test('a ready snapshot causes neither calls nor writes after a restart', async (t) => {
  const first = await scene(t)
  await taken(t)
  await first.snapshotter.endBy('SIGKILL')
  first.driver.calls.length = 0
  const second = await scene(t, { driver: first.driver })
  await ready(t, await createContent(t, { what: 'later', spec: ANOTHER }))
  equal(snapshotCalls(second.driver).length, 1)
  for (const { name } of second.snapshotter.gate.writes('volumesnapshotcontents')) equal(name, t.name('later'))
})

test('after a kill, the next process repeats an uncertain creation with the same name', async (t) => {
  const first = await scene(t, { prepare: (driver) => driver.on('CreateSnapshot', 'hang') })
  await createClass(t)
  await createContent(t)
  await eventually('the call', () => snapshotCalls(first.driver).length === 1)
  await first.snapshotter.endBy('SIGKILL')
  const second = await scene(t, { driver: first.driver })
  await ready(t)
  equal(second.driver.fieldsOf('CreateSnapshot', 'name'), [`snapshot-${UID}`, `snapshot-${UID}`])
  equal(second.snapshotter.gate.writes('volumesnapshotcontents').length, 1)
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
  await createClass(t)
  const name = await createContent(t)
  await setStatus(t, name, { readyToUse: false, error: {} })
  const { driver } = await scene(t, { prepare: (each) => each.on('CreateSnapshot', INTERNAL) })
  await failed(t, /desc = no/)
  equal(driver.callsOf('CreateSnapshot').length, 1)
})

test('retries a failed creation although watch events are late', { only: 'ours' }, async (t) => {
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
  await createClass(t)
  const { driver } = await scene(t, { args: ['--retry-interval-start=1s', '--retry-interval-max=1s'] })
  driver.on('CreateSnapshot', INTERNAL)
  await createContent(t, { what: 'same' })
  await failed(t, /desc = no/, t.name('same'))
  await groupTaken(t, { what: 'same' })
  const before = driver.callsOf('CreateSnapshot').length
  await eventually('two more calls', () => driver.callsOf('CreateSnapshot').length >= before + 2)
})

test('sets no annotation if the class has an unknown reserved parameter', { only: 'ours' }, async (t) => {
  const at = await scene(t)
  await createClass(t, { 'csi.storage.k8s.io/x': 'y' })
  await createContent(t)
  await failed(t, /found unknown parameter key "csi.storage.k8s.io\/x"/)
  equal(wire(at), ['error'])
  await removed(t)
})

const MANY = 100

const speed = testsOf('snapshotter', 'speed', { alone: true, only: 'ours', within: 120_000 })

speed('one hundred snapshots are ready within seconds with default flags', async (t) => {
  await createClass(t)
  for (let index = 0; index < MANY; index += 1) {
    const volumeSnapshotRef = { namespace: 'default', name: 's', uid: `${UID}${index}` }
    await createContent(t, { what: `c${index}`, spec: { volumeSnapshotRef } })
  }
  const { driver, snapshotter } = await scene(t)
  const writes = (): readonly WireRequest[] =>
    snapshotter.gate.writes('volumesnapshotcontents', 'volumesnapshotcontents/status')
  await eventually('the last write', () => writes().filter(({ end }) => end !== undefined).length === 3 * MANY)
  const seconds = (Math.max(...writes().map(({ end = 0 }) => end)) - (writes()[0]?.time ?? 0)) / 1000
  // The machine of the tests is shared. docs/benchmarks.md has the figures of an idle machine.
  ok(seconds < 20, `${seconds} s`)
  ok(snapshotCalls(driver).length === MANY)
})

const deletion = testsOf('snapshotter', 'delete')

deletion('the deletion of a content deletes its snapshot', async (t) => {
  const at = await scene(t)
  await taken(t)
  await removed(t)
  equal(at.driver.requestsOf('DeleteSnapshot'), [{ snapshot_id: 'snap-1' }])
  equal(wire(at).slice(-3), ['DeleteSnapshot', 'status', 'release'])
})

deletion('a snapshot with the policy Retain stays', async (t) => {
  const { driver } = await scene(t)
  await taken(t, { spec: { deletionPolicy: 'Retain' } })
  await removed(t)
  equal(driver.callsOf('DeleteSnapshot'), [])
})

deletion(
  'an unbound pre-provisioned snapshot is deleted without the annotation of the snapshot-controller',
  async (t) => {
    const { driver } = await scene(t, { controller: ['CREATE_DELETE_SNAPSHOT'] })
    await createGiven(t, { spec: { volumeSnapshotRef: { namespace: 'default', name: 'snap' } } })
    await ready(t)
    await t.api.delete(VOLUME_SNAPSHOT_CONTENTS, { name: t.name('content') })
    await gone(t)
    equal(driver.callsOf('DeleteSnapshot').length, 1)
  },
)

deletion(
  'sixteen contents that are deleted during their creation lose their snapshots',
  { only: 'ours' },
  async (t) => {
    const { driver } = await scene(t, { args: ['--worker-threads=16'] })
    driver.on('CreateSnapshot', snapshot({}, { after: 3_000 }))
    await createClass(t)
    const names: string[] = []
    for (let index = 0; index < 16; index += 1) {
      const volumeSnapshotRef = { namespace: 'default', name: 's', uid: `${UID}${index}` }
      names.push(await createContent(t, { what: `c${index}`, spec: { volumeSnapshotRef } }))
    }
    await eventually('all calls', () => driver.callsOf('CreateSnapshot').length === 16)
    for (const name of names) await remove(t, name)
    for (const name of names) await gone(t, name)
    equal(driver.callsOf('DeleteSnapshot').length, 16)
  },
)

deletion('no snapshot is left if the finalizers are removed during the creation', { only: 'ours' }, async (t) => {
  const { driver } = await scene(t)
  driver.on('CreateSnapshot', snapshot({}, { after: 1_500 }))
  await createClass(t)
  const name = await createContent(t)
  await eventually('the call', () => driver.callsOf('CreateSnapshot').length === 1)
  await t.strip(VOLUME_SNAPSHOT_CONTENTS, { name })
  await eventually('the deletion', () => driver.callsOf('DeleteSnapshot').length === 1)
  const methods = snapshotCalls(driver).map(({ method }) => method)
  equal(methods, ['CreateSnapshot', 'DeleteSnapshot'])
})

deletion('an uncertain creation blocks the deletion until it has ended', async (t) => {
  const { driver } = await scene(t, { args: ['--retry-interval-start=100ms', '--retry-interval-max=200ms'] })
  driver.on('CreateSnapshot', { code: 10, message: 'pending' })
  await createClass(t)
  await createContent(t)
  await eventually('the call', () => driver.callsOf('CreateSnapshot').length >= 1)
  await remove(t)
  await pause(500)
  ok((await getContent(t)) !== undefined)
  equal(driver.callsOf('DeleteSnapshot'), [])
  driver.on('CreateSnapshot', { code: 3, message: 'no' })
  await gone(t)
  equal(driver.callsOf('DeleteSnapshot'), [])
})
