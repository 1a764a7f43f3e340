import { deepStrictEqual as equal, ok } from 'node:assert'
import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import { attachment, csiNode, volume } from '../../harness/api/objects.ts'
import type { TestContext } from '../../harness/context.ts'
import type { Call } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import { type AttacherScene, attach, attached, scene, volumeCalls } from './scene.ts'

/** Objects that are recreated under the same name while work for the former one runs. */

const test = testsOf('attacher', 'identity')

const CALL_MS = 1000

/** The calls as `publish <handle> <node id>`, without the test's own name. */
const outlineOf = (t: TestContext, { driver }: AttacherScene): string[] =>
  volumeCalls(driver).map(({ method, request }: Call) => {
    const short = method === 'ControllerPublishVolume' ? 'publish' : 'unpublish'
    return `${short} ${request['volume_id']} ${request['node_id']}`.replaceAll(`${t.id}-`, '')
  })

/** All finalizers are removed by hand, and the attachment is deleted before ours can be restored. */
async function strip(t: TestContext, { attacher }: AttacherScene, name: string): Promise<void> {
  const deleted = Promise.withResolvers<void>()
  attacher.gate.rules.push(({ method, resource }) =>
    method === 'PATCH' && resource === 'volumeattachments' ? { kind: 'wait', for: deleted.promise } : undefined,
  )
  await t.api.merge(VOLUME_ATTACHMENTS, { name }, { metadata: { finalizers: null } })
  if ((await t.api.find(VOLUME_ATTACHMENTS, { name })) !== undefined) {
    await t.api.delete(VOLUME_ATTACHMENTS, { name })
  }
  await t.api.untilGone(VOLUME_ATTACHMENTS, { name })
  deleted.resolve()
}

async function madeAgain(
  t: TestContext,
  at: AttacherScene,
  { pv, va }: { pv: string; va: string },
): Promise<VolumeAttachment> {
  await strip(t, at, va)
  await t.create(VOLUME_ATTACHMENTS, attachment(va, t.driverName, { pv, node: at.node }))
  return await t.api.get(VOLUME_ATTACHMENTS, { name: va })
}

/** The attachment is attached and detached as usual in the end. */
async function checkAttached(t: TestContext, at: AttacherScene, made: VolumeAttachment): Promise<void> {
  const { name = '', uid } = made.metadata ?? {}
  const { metadata } = await attached(t, name)
  equal([metadata?.uid, metadata?.finalizers], [uid, [at.finalizer]])
  await t.api.delete(VOLUME_ATTACHMENTS, { name })
  await t.api.untilGone(VOLUME_ATTACHMENTS, { name })
  equal(outlineOf(t, at).at(-1), 'unpublish pv-handle node-id')
}

test('recreated while its publish runs: the result is not stored in the new one', { only: 'ours' }, async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerPublishVolume', (_, nth) => ({ reply: {}, after: nth === 0 ? CALL_MS : 0 }))
  const names = await attach(t, at)
  await eventually('a publish', () => volumeCalls(at.driver).length === 1)
  const made = await madeAgain(t, at, names)
  const bare = ({ status, metadata }: VolumeAttachment): boolean =>
    status?.attached === true && metadata?.finalizers === undefined
  await never(
    'an attached one without finalizer',
    async () => bare(await t.api.get(VOLUME_ATTACHMENTS, { name: names.va })),
    CALL_MS,
  )
  await checkAttached(t, at, made)
  equal(outlineOf(t, at).filter((call) => call.startsWith('publish')).length, 2)
})

test('recreated while its unpublish runs: attached again after it', { only: 'ours' }, async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerUnpublishVolume', (_, nth) => ({ reply: {}, after: nth === 0 ? CALL_MS : 0 }))
  const names = await attach(t, at)
  await attached(t)
  await t.api.delete(VOLUME_ATTACHMENTS, { name: names.va })
  await eventually('an unpublish', () => volumeCalls(at.driver).length === 2)
  const made = await madeAgain(t, at, names)
  await checkAttached(t, at, made)
  const calls = outlineOf(t, at)
  equal(calls, Array.from({ length: 2 }, () => ['publish pv-handle node-id', 'unpublish pv-handle node-id']).flat())
  const [, unpublish, publish] = volumeCalls(at.driver)
  ok((unpublish?.end ?? Infinity) <= (publish?.start ?? 0), 'a publish while the unpublish runs')
})

test('deleted while its publish runs: unpublished after it', { only: 'ours' }, async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerPublishVolume', { reply: {}, after: CALL_MS })
  const { va } = await attach(t, at)
  await eventually('a publish', () => volumeCalls(at.driver).length === 1)
  await strip(t, at, va)
  await eventually('an unpublish', () => volumeCalls(at.driver).length === 2)
  await never('another call', () => volumeCalls(at.driver).length > 2, CALL_MS)
  equal(outlineOf(t, at), ['publish pv-handle node-id', 'unpublish pv-handle node-id'])
})

test('deleted while its publish runs, which then fails: unpublished too', { only: 'ours' }, async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerPublishVolume', { code: 13, message: 'no', after: CALL_MS })
  const { va } = await attach(t, at)
  await eventually('a publish', () => volumeCalls(at.driver).length === 1)
  await strip(t, at, va)
  await eventually('an unpublish', () => volumeCalls(at.driver).length === 2)
  equal(outlineOf(t, at), ['publish pv-handle node-id', 'unpublish pv-handle node-id'])
})

test('deleted when it is attached: unpublished', { only: 'ours' }, async (t) => {
  const at = await scene(t)
  const { va } = await attach(t, at)
  await attached(t)
  await strip(t, at, va)
  await eventually('an unpublish', () => volumeCalls(at.driver).length === 2)
  equal(outlineOf(t, at), ['publish pv-handle node-id', 'unpublish pv-handle node-id'])
})

test('deleted while another attachment has the same volume and node: not unpublished', { only: 'ours' }, async (t) => {
  const at = await scene(t)
  const { pv, va } = await attach(t, at)
  await attached(t)
  const other = t.name('va-other')
  await t.create(VOLUME_ATTACHMENTS, attachment(other, t.driverName, { pv, node: at.node }))
  await attached(t, other)
  await strip(t, at, va)
  await never('an unpublish', () => at.driver.callsOf('ControllerUnpublishVolume').length > 0, CALL_MS)
  await t.api.delete(VOLUME_ATTACHMENTS, { name: other })
  await t.api.untilGone(VOLUME_ATTACHMENTS, { name: other })
  await never('a second unpublish', () => at.driver.callsOf('ControllerUnpublishVolume').length > 1, CALL_MS)
})

test('a volume recreated before it has our finalizer: the new handle is published', { only: 'ours' }, async (t) => {
  const at = await scene(t)
  const held = Promise.withResolvers<void>()
  at.attacher.gate.rules.push(({ method, resource }) =>
    method === 'PATCH' && resource === 'persistentvolumes' ? { kind: 'wait', for: held.promise } : undefined,
  )
  const { pv } = await attach(t, at)
  const patched = (): boolean => at.attacher.gate.requests.some((each) => each.method === 'PATCH')
  await eventually('a patch under way', patched)
  await t.api.delete(PERSISTENT_VOLUMES, { name: pv })
  await t.api.untilGone(PERSISTENT_VOLUMES, { name: pv })
  await createVolume(t, pv)
  held.resolve()
  await attached(t)
  equal(outlineOf(t, at), ['publish later node-id'])
})

test('a volume recreated while an attach waits behind a call for its former handle', { only: 'ours' }, async (t) => {
  const at = await scene(t, { args: ['--timeout=1m'] })
  const other = t.name('node-other')
  await t.create(CSI_NODES, csiNode(other, { [t.driverName]: `${other}-id` }))
  at.driver.on('ControllerPublishVolume', ({ request }) =>
    request['volume_id'] === `${t.name('pv')}-handle` ? 'hang' : { reply: {} },
  )
  const { pv } = await attach(t, at)
  await eventually('a publish', () => volumeCalls(at.driver).length === 1)
  await t.create(VOLUME_ATTACHMENTS, attachment(t.name('va-other'), t.driverName, { pv, node: other }))
  await pause(500)
  await replaceVolume(t, pv)
  await attached(t, t.name('va-other'), { within: 10_000 })
  equal(outlineOf(t, at), ['publish pv-handle node-id', 'publish later node-other-id'])
})

test('a volume recreated while its publish runs: the former handle is unpublished', { only: 'ours' }, async (t) => {
  const at = await scene(t, { args: ['--timeout=3s'] })
  // Late, but done.
  at.driver.on('ControllerPublishVolume', (_, nth) => ({ reply: {}, after: nth === 0 ? 4 * CALL_MS : 0 }))
  const { pv } = await attach(t, at)
  await eventually('a publish', () => volumeCalls(at.driver).length === 1)
  await replaceVolume(t, pv)
  await attached(t)
  await eventually('an unpublish', () => volumeCalls(at.driver).length === 3)
  equal(outlineOf(t, at).sort(), ['publish later node-id', 'publish pv-handle node-id', 'unpublish pv-handle node-id'])
})

test('a volume recreated before its attachment is created, while its watch lags: the new handle is published', {
  only: 'ours',
}, async (t) => {
  const at = await scene(t)
  const { pv, va } = await attach(t, at)
  await attached(t)
  await t.api.delete(VOLUME_ATTACHMENTS, { name: va })
  await t.api.untilGone(VOLUME_ATTACHMENTS, { name: va })
  const release = at.attacher.gate.holdWatches('persistentvolumes')
  await replaceVolume(t, pv)
  await t.create(VOLUME_ATTACHMENTS, attachment(va, t.driverName, { pv, node: at.node }))
  await attached(t)
  equal(outlineOf(t, at).at(-1), 'publish pv-handle node-id')
  release()
  await eventually('the calls', () => volumeCalls(at.driver).length === 5)
  equal(outlineOf(t, at).slice(3).sort(), ['publish later node-id', 'unpublish pv-handle node-id'])
  const { metadata } = await t.api.get(PERSISTENT_VOLUMES, { name: pv })
  ok(metadata?.finalizers?.includes(at.finalizer))
  await t.api.delete(VOLUME_ATTACHMENTS, { name: va })
  await t.api.untilGone(VOLUME_ATTACHMENTS, { name: va })
  equal(outlineOf(t, at).at(-1), 'unpublish later node-id')
})

test('a volume gone before its attachment is created, while its watch lags, and recreated later: the new handle is published', {
  only: 'ours',
}, async (t) => {
  const at = await scene(t)
  const { pv, va } = await attach(t, at)
  await attached(t)
  await t.api.delete(VOLUME_ATTACHMENTS, { name: va })
  await t.api.untilGone(VOLUME_ATTACHMENTS, { name: va })
  const release = at.attacher.gate.holdWatches('persistentvolumes')
  await removeVolume(t, pv)
  await t.create(VOLUME_ATTACHMENTS, attachment(va, t.driverName, { pv, node: at.node }))
  await attached(t)
  equal(outlineOf(t, at).at(-1), 'publish pv-handle node-id')
  await createVolume(t, pv)
  release()
  await eventually('the calls', () => volumeCalls(at.driver).length === 5)
  equal(outlineOf(t, at).slice(3).sort(), ['publish later node-id', 'unpublish pv-handle node-id'])
  const { metadata } = await t.api.get(PERSISTENT_VOLUMES, { name: pv })
  ok(metadata?.finalizers?.includes(at.finalizer))
})

test('a volume recreated after its attachment was attached: what runs there is left alone', async (t) => {
  const at = await scene(t)
  const { pv } = await attach(t, at)
  await attached(t)
  await pause(1100)
  await replaceVolume(t, pv)
  await never('another call', () => volumeCalls(at.driver).length > 1, 2000)
})

/** A volume of the same name with another handle. */
async function replaceVolume(t: TestContext, pv: string): Promise<void> {
  await removeVolume(t, pv)
  await createVolume(t, pv)
}

/** By hand, whatever protects it. */
async function removeVolume(t: TestContext, pv: string): Promise<void> {
  await t.api.delete(PERSISTENT_VOLUMES, { name: pv })
  await t.api.merge(PERSISTENT_VOLUMES, { name: pv }, { metadata: { finalizers: null } })
  await t.api.untilGone(PERSISTENT_VOLUMES, { name: pv })
}

/** One with another handle. */
async function createVolume(t: TestContext, pv: string): Promise<void> {
  await t.create(PERSISTENT_VOLUMES, volume(pv, t.driverName, { csi: { volumeHandle: t.name('later') } }))
}

test('a node with another id: detached with the published id, after a restart with the id of the node', {
  only: 'ours',
}, async (t) => {
  const at = await scene(t)
  const first = await attach(t, at, { suffix: '-first' })
  const second = await attach(t, at, { suffix: '-second' })
  for (const { va } of [first, second]) await attached(t, va)
  await t.api.delete(CSI_NODES, { name: at.node })
  await t.create(CSI_NODES, csiNode(at.node, { [t.driverName]: `${at.node}-later` }))
  await pause(300)
  await t.api.delete(VOLUME_ATTACHMENTS, { name: first.va })
  await t.api.untilGone(VOLUME_ATTACHMENTS, { name: first.va })
  equal(outlineOf(t, at).at(-1), 'unpublish pv-first-handle node-id')
  at.attacher.signal('SIGTERM')
  await at.attacher.end()
  const { driver } = at
  await t.sidecar({ driver })
  await t.api.delete(VOLUME_ATTACHMENTS, { name: second.va })
  await t.api.untilGone(VOLUME_ATTACHMENTS, { name: second.va })
  equal(outlineOf(t, at).at(-1), 'unpublish pv-second-handle node-later')
})
