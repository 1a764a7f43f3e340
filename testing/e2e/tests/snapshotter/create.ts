import { deepStrictEqual as equal, ok } from 'node:assert'
import { EVENTS, type Event, VOLUME_SNAPSHOT_CONTENTS } from '@csi-sidecars/kube-types'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import {
  createClass,
  createContent,
  createGiven,
  eventsOf,
  failed,
  getContent,
  gone,
  listed,
  ready,
  remove,
  removed,
  scene,
  snapshot,
  snapshotCalls,
  taken,
  UID,
  wire,
} from '../../rows/snapshotter/scene.ts'

const test = testsOf('snapshotter', 'create')
const INTERNAL = { code: 13, message: 'no' }

test('a CreateSnapshot call that always fails causes only two status writes and two events', async (t) => {
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

/** A reference to another VolumeSnapshot, so that the driver's snapshot gets another name. */
const ANOTHER = { volumeSnapshotRef: { namespace: 'default', name: 's', uid: `${UID}2` } }

test('the snapshotter ignores VolumeSnapshotContents of other drivers', async (t) => {
  const at = await scene(t)
  await createContent(t, { spec: { driver: 'other.example.com' } })
  await taken(t, { what: 'own', spec: ANOTHER })
  equal(snapshotCalls(at.driver).length, 1)
  equal(await eventsOf(t), [])
})

test('a restarted snapshotter makes no call and no write for a snapshot that is ready', async (t) => {
  const first = await scene(t)
  await taken(t)
  await first.snapshotter.endBy('SIGKILL')
  first.driver.calls.length = 0
  const second = await scene(t, { driver: first.driver })
  await ready(t, await createContent(t, { what: 'later', spec: ANOTHER }))
  equal(snapshotCalls(second.driver).length, 1)
  for (const { name } of second.snapshotter.gate.writes('volumesnapshotcontents')) equal(name, t.name('later'))
})

test('after the snapshotter is killed during CreateSnapshot, the next process repeats the call with the same name', async (t) => {
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

const deletion = testsOf('snapshotter', 'delete')

deletion('a deleted snapshot content keeps its finalizer until DeleteSnapshot has succeeded', async (t) => {
  const at = await scene(t)
  await taken(t)
  await removed(t)
  equal(at.driver.requestsOf('DeleteSnapshot'), [{ snapshot_id: 'snap-1' }])
  equal(wire(at).slice(-3), ['DeleteSnapshot', 'status', 'release'])
})

deletion('the snapshotter does not call DeleteSnapshot for a snapshot content with the policy Retain', async (t) => {
  const { driver } = await scene(t)
  await taken(t, { spec: { deletionPolicy: 'Retain' } })
  await removed(t)
  equal(driver.callsOf('DeleteSnapshot'), [])
})

deletion('DeleteSnapshot of an unbound pre-provisioned snapshot needs no being-deleted annotation', async (t) => {
  const { driver } = await scene(t, { controller: ['CREATE_DELETE_SNAPSHOT'] })
  await createGiven(t, { spec: { volumeSnapshotRef: { namespace: 'default', name: 'snap' } } })
  await ready(t)
  await t.api.delete(VOLUME_SNAPSHOT_CONTENTS, { name: t.name('content') })
  await gone(t)
  equal(driver.callsOf('DeleteSnapshot').length, 1)
})

deletion('no snapshot is left if its content object is deleted during CreateSnapshot', { only: 'ours' }, async (t) => {
  const { driver } = await scene(t, { args: ['--worker-threads=16'] })
  driver.on('CreateSnapshot', ({ request }) => snapshot({ snapshotId: String(request['name']) }, { after: 3_000 }))
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
})

deletion('a snapshot whose content object disappears during CreateSnapshot is deleted', { only: 'ours' }, async (t) => {
  const { driver } = await scene(t)
  driver.on('CreateSnapshot', snapshot({}, { after: 1_500 }))
  await createClass(t)
  const name = await createContent(t)
  await eventually('the call', () => driver.callsOf('CreateSnapshot').length === 1)
  await t.api.merge(VOLUME_SNAPSHOT_CONTENTS, { name }, { metadata: { finalizers: null } })
  await t.api.delete(VOLUME_SNAPSHOT_CONTENTS, { name })
  await eventually('the deletion', () => driver.callsOf('DeleteSnapshot').length === 1)
  const methods = snapshotCalls(driver).map(({ method }) => method)
  equal(methods, ['CreateSnapshot', 'DeleteSnapshot'])
})

const RETAIN = { spec: { deletionPolicy: 'Retain' } }

deletion(
  'a failed DeleteSnapshot is not repeated if one write sets Retain and removes the finalizers',
  {
    only: 'ours',
  },
  async (t) => {
    const { driver, snapshotter } = await scene(t, { args: ['--retry-interval-start=1s'] })
    await taken(t)
    driver.on('DeleteSnapshot', INTERNAL)
    await remove(t)
    await eventually('the call', () => driver.callsOf('DeleteSnapshot').length === 1)
    driver.on('DeleteSnapshot', { reply: {} })
    await t.api.merge(
      VOLUME_SNAPSHOT_CONTENTS,
      { name: t.name('content') },
      { ...RETAIN, metadata: { finalizers: null } },
    )
    await snapshotter.line('that is gone may stay in the back end', {})
    equal(driver.callsOf('DeleteSnapshot').length, 1)
    const isReport = ({ involvedObject, reason }: Event): boolean =>
      involvedObject.kind === 'VolumeSnapshot' && involvedObject.uid === UID && reason === 'SnapshotLeft'
    await eventually('the event', async () => (await t.api.list(EVENTS, 'default')).some(isReport))
  },
)

deletion(
  'the policy Retain keeps the snapshot although the watch has not delivered it yet',
  { only: 'ours' },
  async (t) => {
    const { driver, snapshotter } = await scene(t, { args: ['--retry-interval-start=1s'] })
    await taken(t)
    driver.on('DeleteSnapshot', INTERNAL)
    await remove(t)
    await eventually('the call', () => driver.callsOf('DeleteSnapshot').length === 1)
    driver.on('DeleteSnapshot', { reply: {} })
    const deliver = snapshotter.gate.holdWatches('volumesnapshotcontents')
    await t.api.merge(VOLUME_SNAPSHOT_CONTENTS, { name: t.name('content') }, RETAIN)
    await gone(t)
    deliver()
    equal(driver.callsOf('DeleteSnapshot').length, 1)
  },
)

deletion('a snapshot of two contents is deleted with the last of them', { only: 'ours' }, async (t) => {
  const { driver } = await scene(t)
  await taken(t)
  const ref = { namespace: 'default', name: 'copy', uid: `${UID}2` }
  const spec = { source: { snapshotHandle: 'snap-1' }, volumeSnapshotRef: ref }
  driver.on('ListSnapshots', listed())
  const copy = await createGiven(t, { what: 'copy', spec })
  await ready(t, copy)
  await removed(t)
  equal(driver.callsOf('DeleteSnapshot'), [])
  await removed(t, copy)
  equal(driver.requestsOf('DeleteSnapshot'), [{ snapshot_id: 'snap-1' }])
})

deletion('a deleted VolumeSnapshotContent stays until CreateSnapshot returns a final code', async (t) => {
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
