import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUMES, type PersistentVolume, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import type { Fault } from '../../harness/api/wire.ts'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import { attachedScene } from './detach-scene.ts'
import {
  type AttacherScene,
  attachAndWait,
  attached,
  detachAndWait,
  editAttachment,
  editStatus,
  scene,
  unpublishes,
  volumeCalls,
} from './scene.ts'

/** Other writers change the objects of the attacher before its watch reports the change, once and repeatedly. */

const test = testsOf('attacher', 'other writers', { only: 'ours' })
/** Tests that also run with the originals. */
const shared = testsOf('attacher', 'other writers')

/**
 * Lets another writer change the VolumeAttachment right before our next patch, which is based on the unchanged object.
 */
function changedBefore(t: TestContext, { attacher }: Pick<AttacherScene, 'attacher'>, change: object): void {
  const changing = (): Fault => {
    attacher.gate.muteWatches()
    return { kind: 'wait', for: editAttachment(t, change) }
  }
  attacher.gate.inject('PATCH volumeattachments', changing, { times: 1 })
}

const errors = ({ attacher }: Pick<AttacherScene, 'attacher'>): number =>
  attacher.gate.writes('volumeattachments/status').filter(({ bytes }) => bytes.includes('Error')).length

test('a finalizer that its owner removes is not restored with ours', async (t) => {
  const at = await scene(t)
  changedBefore(t, at, { metadata: { finalizers: null } })
  const { metadata } = (await attachAndWait(t, at, { va: { metadata: { finalizers: ['example.com/a'] } } })).object
  equal(metadata?.finalizers, [at.finalizer])
  equal([errors(at), volumeCalls(at.driver).length], [0, 1])
})

test('a finalizer and annotations of other writers are kept with ours', async (t) => {
  const at = await scene(t)
  const others = { finalizers: ['example.com/b'], annotations: { other: 'kept' } }
  changedBefore(t, at, { metadata: others })
  const { metadata } = (await attachAndWait(t, at)).object
  equal(metadata?.finalizers, ['example.com/b', at.finalizer])
  equal(metadata?.annotations?.['other'], 'kept')
  equal([errors(at), volumeCalls(at.driver).length], [0, 1])
})

test('a finalizer that its owner removes is not restored when ours is removed', async (t) => {
  const at = await attachedScene(t, { va: { metadata: { finalizers: ['example.com/a'] } } })
  changedBefore(t, at, { metadata: { finalizers: [at.finalizer] } })
  await detachAndWait(t, at.va)
  equal([errors(at), unpublishes(at).length], [0, 1])
})

test('our finalizer is restored on an attached VolumeAttachment, without a publish', async (t) => {
  const at = await attachedScene(t)
  await t.api.merge(VOLUME_ATTACHMENTS, { name: at.va }, { metadata: { finalizers: ['example.com/a'] } })
  await t.api.until(VOLUME_ATTACHMENTS, { name: at.va }, ({ metadata }) => metadata?.finalizers?.length === 2)
  await at.attacher.line('Restored the finalizer that another writer has removed')
  equal(volumeCalls(at.driver).length, 1)
  // Otherwise this process would find nothing to detach.
  await at.attacher.endBy('SIGKILL')
  await t.sidecar({ driver: at.driver })
  await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
  await eventually('an unpublish', () => unpublishes(at).length === 1)
})

shared('an attached VolumeAttachment that never had it is not changed', async (t) => {
  const at = await attachedScene(t)
  await at.attacher.endBy('SIGKILL')
  await t.api.merge(VOLUME_ATTACHMENTS, { name: at.va }, { metadata: { finalizers: null } })
  const { gate } = await t.sidecar({ driver: at.driver })
  await eventually('a watch', () => gate.openWatches('volumeattachments') > 0)
  await t.api.merge(VOLUME_ATTACHMENTS, { name: at.va }, { metadata: { labels: { a: 'b' } } })
  await never('a write', () => gate.writes().length > 0, 1000)
})

test('our finalizer is restored on a PersistentVolume in use', async (t) => {
  const at = await attachedScene(t)
  await t.api.merge(PERSISTENT_VOLUMES, { name: at.pv }, { metadata: { finalizers: ['example.com/a'] } })
  const both = ({ metadata }: PersistentVolume): boolean => metadata?.finalizers?.length === 2
  const back = await t.api.until(PERSISTENT_VOLUMES, { name: at.pv }, both)
  equal(back.metadata?.finalizers, ['example.com/a', at.finalizer])
  equal(volumeCalls(at.driver).length, 1)
})

test('a writer that removes our finalizers repeatedly meets the backoff', async (t) => {
  const at = await attachedScene(t)
  const writes = at.attacher.gate.writes().length
  const end = performance.now() + 4000
  while (performance.now() < end) {
    await t.api.merge(VOLUME_ATTACHMENTS, { name: at.va }, { metadata: { finalizers: null } })
    await t.api.merge(PERSISTENT_VOLUMES, { name: at.pv }, { metadata: { finalizers: null } })
    await pause(50)
  }
  const more = at.attacher.gate.writes().length - writes
  ok(more >= 2 && more <= 10, `${more} writes`)
})

test('a writer that resets attached repeatedly meets the backoff', async (t) => {
  const at = await attachedScene(t)
  await editStatus(t, { attached: false })
  await eventually('a publish at once', () => volumeCalls(at.driver).length === 2, { within: 1000 })
  const end = performance.now() + 4000
  while (performance.now() < end) {
    await editStatus(t, { attached: false })
    await pause(50)
  }
  const calls = volumeCalls(at.driver).length
  ok(calls <= 6, `${calls} publishes`)
  await attached(t)
})
