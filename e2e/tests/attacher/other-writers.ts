import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import { attachedScene, unpublishes } from './detach-scene.ts'
import { type AttacherScene, attach, attached, scene, volumeCalls } from './scene.ts'

/** Other writers change the objects of the attacher before its watch reports the change, once and repeatedly. */

const test = testsOf('attacher', 'other writers')

/** Another writer changes the VolumeAttachment right before our next patch, which is based on the former object. */
function changedBefore(
  t: TestContext,
  { attacher }: Pick<AttacherScene, 'attacher'>,
  { va = t.name('va'), change }: { readonly va?: string; readonly change: object },
): void {
  let changed = false
  attacher.gate.rules.push(({ method, resource }) => {
    if (method !== 'PATCH' || resource !== 'volumeattachments' || changed) return undefined
    changed = true
    attacher.gate.muteWatches()
    return { kind: 'wait', for: t.api.merge(VOLUME_ATTACHMENTS, { name: va }, change).then(() => undefined) }
  })
}

const errors = ({ attacher }: Pick<AttacherScene, 'attacher'>): number =>
  attacher.gate.writes('volumeattachments/status').filter(({ body }) => JSON.stringify(body).includes('Error')).length

test('a finalizer that its owner removes is not restored with ours', { only: 'ours' }, async (t) => {
  const at = await scene(t)
  changedBefore(t, at, { change: { metadata: { finalizers: null } } })
  await attach(t, at, { va: { metadata: { finalizers: ['example.com/a'] } } })
  const { metadata } = await attached(t)
  equal(metadata?.finalizers, [at.finalizer])
  equal([errors(at), volumeCalls(at.driver).length], [0, 1])
})

test('a finalizer and annotations of other writers are kept beside ours', { only: 'ours' }, async (t) => {
  const at = await scene(t)
  const others = { finalizers: ['example.com/b'], annotations: { other: 'kept' } }
  changedBefore(t, at, { change: { metadata: others } })
  await attach(t, at)
  const { metadata } = await attached(t)
  equal(metadata?.finalizers, ['example.com/b', at.finalizer])
  equal(metadata?.annotations?.['other'], 'kept')
  equal([errors(at), volumeCalls(at.driver).length], [0, 1])
})

test('a finalizer that its owner removes is not restored when ours is removed', { only: 'ours' }, async (t) => {
  const at = await attachedScene(t, { va: { metadata: { finalizers: ['example.com/a'] } } })
  changedBefore(t, at, { va: at.va, change: { metadata: { finalizers: [at.finalizer] } } })
  await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
  await t.api.untilGone(VOLUME_ATTACHMENTS, { name: at.va })
  equal([errors(at), unpublishes(at).length], [0, 1])
})

test('our finalizer is restored on an attached VolumeAttachment, without a publish', { only: 'ours' }, async (t) => {
  const at = await attachedScene(t)
  await t.api.merge(VOLUME_ATTACHMENTS, { name: at.va }, { metadata: { finalizers: ['example.com/a'] } })
  await t.api.until(VOLUME_ATTACHMENTS, { name: at.va }, ({ metadata }) => metadata?.finalizers?.length === 2)
  await at.attacher.line('Restored the finalizer that another writer has removed')
  equal(volumeCalls(at.driver).length, 1)
  // Otherwise this process would find nothing to detach.
  at.attacher.signal('SIGKILL')
  await at.attacher.end()
  await t.sidecar({ driver: at.driver })
  await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
  await eventually('an unpublish', () => unpublishes(at).length === 1)
})

test('an attached VolumeAttachment that never had it is not changed', async (t) => {
  const at = await attachedScene(t)
  at.attacher.signal('SIGKILL')
  await at.attacher.end()
  await t.api.merge(VOLUME_ATTACHMENTS, { name: at.va }, { metadata: { finalizers: null } })
  const { gate } = await t.sidecar({ driver: at.driver })
  await eventually('a watch', () => gate.openWatches('volumeattachments') > 0)
  await t.api.merge(VOLUME_ATTACHMENTS, { name: at.va }, { metadata: { labels: { a: 'b' } } })
  await never('a write', () => gate.writes().length > 0, 1000)
})

test('our finalizer is restored on a PersistentVolume in use', { only: 'ours' }, async (t) => {
  const at = await attachedScene(t)
  await t.api.merge(PERSISTENT_VOLUMES, { name: at.pv }, { metadata: { finalizers: ['example.com/a'] } })
  const back = await t.api.until(
    PERSISTENT_VOLUMES,
    { name: at.pv },
    ({ metadata }) => metadata?.finalizers?.length === 2,
  )
  equal(back.metadata?.finalizers, ['example.com/a', at.finalizer])
  equal(volumeCalls(at.driver).length, 1)
})

test('a writer that removes our finalizers repeatedly meets the backoff', { only: 'ours' }, async (t) => {
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

test('a writer that resets attached repeatedly meets the backoff', { only: 'ours' }, async (t) => {
  const at = await attachedScene(t)
  const reset = { status: { attached: false } }
  const subresource = { name: at.va, subresource: 'status' }
  await t.api.merge(VOLUME_ATTACHMENTS, subresource, reset)
  await eventually('a publish at once', () => volumeCalls(at.driver).length === 2, { within: 1000 })
  const end = performance.now() + 4000
  while (performance.now() < end) {
    await t.api.merge(VOLUME_ATTACHMENTS, subresource, reset)
    await pause(50)
  }
  const calls = volumeCalls(at.driver).length
  ok(calls <= 6, `${calls} publishes`)
  await attached(t)
})
