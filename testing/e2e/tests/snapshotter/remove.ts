import { deepStrictEqual as equal, ok } from 'node:assert'
import { VOLUME_SNAPSHOT_CONTENTS } from '@csi-sidecars/kube-types'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import {
  createClass,
  createContent,
  createGiven,
  getContent,
  gone,
  ready,
  remove,
  removed,
  scene,
  snapshot,
  snapshotCalls,
  taken,
  UID,
  wire,
} from './scene.ts'

const test = testsOf('snapshotter', 'delete')

test('the deletion of a content deletes its snapshot', async (t) => {
  const at = await scene(t)
  await taken(t)
  await removed(t)
  equal(at.driver.requestsOf('DeleteSnapshot'), [{ snapshot_id: 'snap-1' }])
  equal(wire(at).slice(-3), ['DeleteSnapshot', 'status', 'release'])
})

test('a snapshot with the policy Retain stays', async (t) => {
  const { driver } = await scene(t)
  await taken(t, { spec: { deletionPolicy: 'Retain' } })
  await removed(t)
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
