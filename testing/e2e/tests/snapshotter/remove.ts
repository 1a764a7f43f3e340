import { deepStrictEqual as equal, ok } from 'node:assert'
import { VOLUME_GROUP_SNAPSHOT_CONTENTS, VOLUME_SNAPSHOT_CONTENTS } from '@csi-sidecars/kube-types'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import {
  createClass,
  createContent,
  createGiven,
  createGroup,
  createGroupClass,
  eventsOf,
  getContent,
  gone,
  groupReady,
  ready,
  remove,
  scene,
  snapshot,
  snapshotCalls,
  UID,
  wire,
} from './scene.ts'

const test = testsOf('snapshotter', 'delete')

test('the deletion of a content deletes its snapshot', async (t) => {
  const at = await scene(t)
  await createClass(t)
  await createContent(t)
  await ready(t)
  await remove(t)
  await gone(t)
  equal(
    at.driver.callsOf('DeleteSnapshot').map(({ request }) => request),
    [{ snapshot_id: 'snap-1' }],
  )
  equal(wire(at).slice(-3), ['DeleteSnapshot', 'status', 'release'])
})

test('a snapshot with the policy Retain stays', async (t) => {
  const { driver } = await scene(t)
  await createClass(t)
  await createContent(t, { spec: { deletionPolicy: 'Retain' } })
  await ready(t)
  await remove(t)
  await gone(t)
  equal(driver.callsOf('DeleteSnapshot'), [])
})

test('an unbound pre-provisioned snapshot is deleted without the annotation of the snapshot-controller', async (t) => {
  const { driver } = await scene(t, { controller: ['CREATE_DELETE_SNAPSHOT'] })
  await createGiven(t, { spec: { volumeSnapshotRef: { namespace: 'default', name: 'snap' } } })
  await ready(t)
  await t.api.delete(VOLUME_SNAPSHOT_CONTENTS, { name: t.name('content') })
  await gone(t)
  equal(driver.callsOf('DeleteSnapshot').length, 1)
})

test('each failed attempt to delete a snapshot is reported', async (t) => {
  const { driver } = await scene(t, { args: ['--retry-interval-start=100ms'] })
  await createClass(t)
  await createContent(t)
  await ready(t)
  driver.on('DeleteSnapshot', { code: 5, message: 'no such snapshot' })
  await remove(t)
  await eventually('three tries', () => driver.callsOf('DeleteSnapshot').length >= 3)
  equal(new Set(await eventsOf(t)), new Set(['SnapshotDeleteError: Failed to delete snapshot']))
  driver.on('DeleteSnapshot', { reply: {} })
  await gone(t)
})

test('a group snapshot is deleted with the handles of its snapshots', async (t) => {
  const { driver } = await scene(t)
  await createGroupClass(t)
  const name = await createGroup(t)
  await groupReady(t)
  await remove(t, name, VOLUME_GROUP_SNAPSHOT_CONTENTS)
  await gone(t, name, VOLUME_GROUP_SNAPSHOT_CONTENTS)
  equal(
    driver.callsOf('DeleteVolumeGroupSnapshot').map(({ request }) => request),
    [{ group_snapshot_id: 'group-1', snapshot_ids: ['s-1', 's-2'] }],
  )
})

test('sixteen contents that are deleted during their creation lose their snapshots', { only: 'ours' }, async (t) => {
  const { driver } = await scene(t, {
    args: ['--worker-threads=16'],
    prepare: (each) => each.on('CreateSnapshot', snapshot({}, { after: 3_000 })),
  })
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

test('no snapshot is left if the finalizers are removed during the creation', { only: 'ours' }, async (t) => {
  const { driver } = await scene(t, {
    prepare: (each) => each.on('CreateSnapshot', snapshot({}, { after: 1_500 })),
  })
  await createClass(t)
  const name = await createContent(t)
  await eventually('the call', () => driver.callsOf('CreateSnapshot').length === 1)
  await t.strip(VOLUME_SNAPSHOT_CONTENTS, { name })
  await eventually('the deletion', () => driver.callsOf('DeleteSnapshot').length === 1)
  equal(
    snapshotCalls(driver).map(({ method }) => method),
    ['CreateSnapshot', 'DeleteSnapshot'],
  )
})

test('an uncertain creation blocks the deletion until it has ended', async (t) => {
  const { driver } = await scene(t, {
    args: ['--retry-interval-start=100ms', '--retry-interval-max=200ms'],
    prepare: (each) => each.on('CreateSnapshot', { code: 10, message: 'pending' }),
  })
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
