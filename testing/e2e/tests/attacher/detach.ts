import { deepStrictEqual as equal, ok } from 'node:assert'
import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import { attachedScene } from './detach-scene.ts'
import {
  attach,
  attached,
  attachFailed,
  changeOf,
  detachAndWait,
  editAttachment,
  finalizerRemoved,
  gapsOf,
  NODE_ID_ANNOTATION,
  outline,
  scene,
  unpublishes,
  volumeCalls,
} from './scene.ts'

const test = testsOf('attacher', 'detach')

test('unpublishes, then removes the finalizer, and the VA is deleted', async (t) => {
  const at = await attachedScene(t)
  await detachAndWait(t, at.va)
  await pause(300)
  const [unpublish] = unpublishes(at)
  equal(unpublishes(at).length, 1)
  equal(unpublish?.request, { volume_id: `${at.pv}-handle`, node_id: `${at.node}-id` })
  equal(Math.round((unpublish?.timeoutMs ?? 0) / 1000), 15)
  const writes = (await at.attacher.gate.settledWrites()).slice(at.mark)
  const lastWrite = t.ours ? [] : ['PATCH volumeattachments/status 404']
  equal(outline(t, writes), ['PATCH volumeattachments 200', ...lastWrite])
  equal(writes[0]?.contentType, `application/${t.ours ? 'json' : 'merge'}-patch+json`)
  equal(changeOf(t, writes[0]), finalizerRemoved(t, at, { place: 0, others: [] }))
  ok((writes[0]?.time ?? 0) >= (unpublish?.end ?? Infinity), 'the finalizer goes after the unpublish')
  equal((await t.api.get(PERSISTENT_VOLUMES, { name: at.pv })).metadata?.finalizers, [at.finalizer])
})

test('while a foreign finalizer keeps the VA, ours is removed and the status says detached', async (t) => {
  const at = await attachedScene(t, { va: { metadata: { finalizers: ['example.com/a'] } } })
  await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
  const va = await t.api.until(VOLUME_ATTACHMENTS, { name: at.va }, ({ status }) => status?.attached === false)
  equal(va.metadata?.finalizers, ['example.com/a'])
  const writes = (await at.attacher.gate.settledWrites()).slice(at.mark)
  equal(outline(t, writes), ['PATCH volumeattachments 200', 'PATCH volumeattachments/status 200'])
  equal(changeOf(t, writes[0]), finalizerRemoved(t, at, { place: 1, others: ['example.com/a'] }))
  equal(changeOf(t, writes[1]), { status: { attached: false } })
  await never('a second unpublish', () => unpublishes(at).length > 1, 700)
})

test('a foreign finalizer that is removed during the unpublish is not restored', { only: 'ours' }, async (t) => {
  const at = await attachedScene(t, { va: { metadata: { finalizers: ['example.com/a'] } } })
  at.driver.on('ControllerUnpublishVolume', { reply: {}, after: 1000 })
  await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
  await eventually('the unpublish', () => unpublishes(at).length > 0)
  await t.api.merge(VOLUME_ATTACHMENTS, { name: at.va }, { metadata: { finalizers: [at.finalizer] } })
  await t.api.untilGone(VOLUME_ATTACHMENTS, { name: at.va })
  const writes = (await at.attacher.gate.settledWrites()).slice(at.mark)
  equal(outline(t, writes), ['PATCH volumeattachments 200'])
  equal(unpublishes(at).length, 1)
})

test('the metadata of the attachment is cleared with the status', async (t) => {
  const at = await attachedScene(t, {
    va: { metadata: { finalizers: ['example.com/a'] } },
    prepare: (driver) => driver.on('ControllerPublishVolume', { reply: { publishContext: { a: 'b' } } }),
  })
  await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
  const va = await t.api.until(VOLUME_ATTACHMENTS, { name: at.va }, ({ status }) => status?.attached === false)
  equal(va.status, { attached: false })
  equal(changeOf(t, at.attacher.gate.writes().at(-1)), { status: { attached: false, attachmentMetadata: null } })
})

test('the secret is sent to the unpublish too', async (t) => {
  const secretRef = await t.createSecret({ key: 'value' })
  const at = await attachedScene(t, { pv: { csi: { controllerPublishSecretRef: secretRef } } })
  await detachAndWait(t, at.va)
  equal(unpublishes(at)[0]?.request, {
    volume_id: `${at.pv}-handle`,
    node_id: `${at.node}-id`,
    secrets: { key: 'value' },
  })
})

test('a node that lost its CSINode is known by the annotation', async (t) => {
  const at = await attachedScene(t)
  await t.api.delete(CSI_NODES, { name: at.node })
  await pause(300)
  await detachAndWait(t, at.va)
  equal(unpublishes(at)[0]?.request['node_id'], `${at.node}-id`)
})

test('the CSINode takes precedence over the annotation', async (t) => {
  const at = await attachedScene(t)
  await editAttachment(t, { metadata: { annotations: { [NODE_ID_ANNOTATION]: 'wrong' } } })
  await pause(300)
  await detachAndWait(t, at.va)
  equal(unpublishes(at)[0]?.request['node_id'], `${at.node}-id`)
})

test('a PV that is being deleted does not matter', async (t) => {
  const at = await attachedScene(t)
  await t.api.delete(PERSISTENT_VOLUMES, { name: at.pv })
  await detachAndWait(t, at.va)
  await t.api.untilGone(PERSISTENT_VOLUMES, { name: at.pv })
})

test('a VA that failed to attach after the finalizer is unpublished when it is deleted', async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerPublishVolume', { code: 13, message: 'no' })
  const { va } = await attach(t, at)
  await attachFailed(t)
  await detachAndWait(t, va)
  equal(unpublishes(at).length, 1)
})

test('a VA that failed before the finalizer is deleted without an unpublish', async (t) => {
  const at = await scene(t)
  await attach(t, { node: t.name('nowhere') })
  await attachFailed(t)
  await detachAndWait(t)
  await pause(300)
  equal(volumeCalls(at.driver), [])
})

test('without our finalizer a VA counts as detached, whatever its status says', async (t) => {
  const at = await attachedScene(t, { va: { metadata: { finalizers: ['example.com/a'] } } })
  // A process that has seen the finalizer restores it.
  await at.attacher.endBy('SIGKILL')
  await t.api.merge(VOLUME_ATTACHMENTS, { name: at.va }, { metadata: { finalizers: ['example.com/a'] } })
  const attacher = await t.running({ driver: at.driver }, 'volumeattachments', 'persistentvolumes', 'csinodes')
  await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
  await never('an unpublish', () => unpublishes(at).length > 0, 1000)
  equal(attacher.gate.writes(), [])
})

test('deleted while its publish runs: the publish ends first, then unpublish', async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerPublishVolume', { reply: {}, after: 1500 })
  const { va } = await attach(t, at)
  await eventually('a publish', () => volumeCalls(at.driver).length > 0)
  await detachAndWait(t, va)
  const calls = volumeCalls(at.driver)
  equal(calls.at(-1)?.method, 'ControllerUnpublishVolume')
  ok(
    gapsOf(calls).every((gap) => gap >= 0),
    'one at a time',
  )
  if (t.ours) equal(calls.length, 2)
})

test('deleted while no attacher runs: unpublished at start', async (t) => {
  const at = await attachedScene(t)
  await at.attacher.endBy('SIGKILL')
  await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
  await t.sidecar({ driver: at.driver })
  await t.api.untilGone(VOLUME_ATTACHMENTS, { name: at.va })
  equal(unpublishes(at).length, 1)
})

test('a new VA of the same volume and node is published again after the detach', async (t) => {
  const at = await attachedScene(t)
  await detachAndWait(t, at.va)
  const before = at.driver.callsOf('ControllerPublishVolume').length
  await t.createAttachment('va', at)
  await attached(t)
  ok(at.driver.callsOf('ControllerPublishVolume').length > before)
})

test('an inline volume is unpublished, and no PV is looked for', async (t) => {
  const at = await scene(t)
  const inlineVolumeSpec = { accessModes: ['ReadWriteOnce'], csi: { driver: t.driverName, volumeHandle: 'inline-2' } }
  await t.createAttachment('va', { node: at.node, source: { inlineVolumeSpec } })
  await attached(t)
  await detachAndWait(t)
  equal(unpublishes(at)[0]?.request, { volume_id: 'inline-2', node_id: `${at.node}-id` })
})
