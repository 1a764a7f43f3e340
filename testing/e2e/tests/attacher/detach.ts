import { deepStrictEqual as equal, ok } from 'node:assert'
import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { partOf } from '../../harness/api/gate.ts'
import { attachment } from '../../harness/api/objects.ts'
import type { Fault } from '../../harness/api/wire.ts'
import { ETCD_TIRED } from '../../harness/api/write-faults.ts'
import type { TestContext } from '../../harness/context.ts'
import { assertContains } from '../../harness/process/sidecar.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import {
  afterLaterWork,
  attach,
  attachAndWait,
  attached,
  attachedScene,
  attachFailed,
  changeOf,
  detachAndWait,
  detachFailed,
  editAttachment,
  finalizerOf,
  finalizerRemoved,
  gapsOf,
  NODE_ID_ANNOTATION,
  outline,
  scene,
  unpublishes,
  untilAttachment,
  volumeCalls,
  writesTimeAlone,
} from '../../rows/attacher/scene.ts'

const test = testsOf('attacher', 'detach')

/** The VolumeAttachment has a foreign finalizer, so that the object remains after the detach. */
const HELD = { va: { metadata: { finalizers: ['example.com/a'] } } }
const untilDetached = (t: TestContext) => untilAttachment(t, ({ status }) => status?.attached === false)

test('a detach unpublishes, then removes the finalizer, and the VolumeAttachment is deleted', async (t) => {
  const at = await attachedScene(t)
  await detachAndWait(t, at.va)
  const later = await afterLaterWork(t, at)
  const [unpublish] = unpublishes(at)
  equal(unpublishes(at).length, 1)
  equal(unpublish?.request, { volume_id: `${at.pv}-handle`, node_id: `${at.node}-id` })
  equal(Math.round((unpublish?.timeoutMs ?? 0) / 1000), 15)
  const writes = later.writes.slice(at.mark)
  const lastWrite = t.ours ? [] : ['PATCH volumeattachments/status 404']
  equal(outline(t, writes), ['PATCH volumeattachments 200', ...lastWrite])
  equal(writes[0]?.contentType, `application/${t.ours ? 'json' : 'merge'}-patch+json`)
  equal(changeOf(t, writes[0]), finalizerRemoved(t, at, { place: 0, others: [] }))
  ok((writes[0]?.time ?? 0) >= (unpublish?.end ?? Infinity), 'the finalizer goes after the unpublish')
  equal((await t.api.get(PERSISTENT_VOLUMES, { name: at.pv })).metadata?.finalizers, [at.finalizer])
})

test('a detached VolumeAttachment with a foreign finalizer loses our finalizer and its attachmentMetadata', async (t) => {
  const at = await attachedScene(t, {
    ...HELD,
    prepare: (driver) => driver.on('ControllerPublishVolume', { reply: { publishContext: { a: 'b' } } }),
  })
  await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
  const va = await untilDetached(t)
  equal(va.metadata?.finalizers, ['example.com/a'])
  const writes = (await afterLaterWork(t, at)).writes.slice(at.mark)
  equal(outline(t, writes), ['PATCH volumeattachments 200', 'PATCH volumeattachments/status 200'])
  equal(changeOf(t, writes[0]), finalizerRemoved(t, at, { place: 1, others: ['example.com/a'] }))
  equal(changeOf(t, writes[1]), { status: { attached: false, attachmentMetadata: null } })
  equal(va.status, { attached: false })
  equal(unpublishes(at).length, 1)
})

test('the ControllerUnpublishVolume request contains the data of the secret', async (t) => {
  const secretRef = await t.createSecret({ key: 'value' })
  const at = await attachedScene(t, { pv: { csi: { controllerPublishSecretRef: secretRef } } })
  await detachAndWait(t, at.va)
  equal(unpublishes(at)[0]?.request, {
    volume_id: `${at.pv}-handle`,
    node_id: `${at.node}-id`,
    secrets: { key: 'value' },
  })
})

test('a detach uses the node ID in the annotation if the CSINode is missing', async (t) => {
  const at = await attachedScene(t)
  await t.remove(CSI_NODES, { name: at.node })
  await detachAndWait(t, at.va)
  equal(unpublishes(at)[0]?.request['node_id'], `${at.node}-id`)
})

test('a detach prefers the node ID in the CSINode to the node ID in the annotation', async (t) => {
  const at = await attachedScene(t)
  const edited = await editAttachment(t, { metadata: { annotations: { [NODE_ID_ANNOTATION]: 'wrong' } } })
  await t.received(VOLUME_ATTACHMENTS, edited)
  await detachAndWait(t, at.va)
  equal(unpublishes(at)[0]?.request['node_id'], `${at.node}-id`)
})

test('a deleted VolumeAttachment is unpublished if its attach failed after our finalizer was added', async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerPublishVolume', { code: 13, message: 'no' })
  const { va } = await attach(t, at)
  await attachFailed(t)
  await detachAndWait(t, va)
  equal(unpublishes(at).length, 1)
})

test('a deleted VolumeAttachment is not unpublished if its attach failed before our finalizer was added', async (t) => {
  const at = await scene(t)
  await attach(t, { node: t.name('nowhere') })
  await attachFailed(t)
  await detachAndWait(t)
  equal((await afterLaterWork(t, at)).calls, [])
})

test('a deleted VolumeAttachment without our finalizer causes no unpublish, even if it is still attached', async (t) => {
  const at = await attachedScene(t, HELD)
  // The test kills the attacher first, because a running attacher would restore the finalizer.
  await at.attacher.endBy('SIGKILL')
  await t.api.merge(VOLUME_ATTACHMENTS, { name: at.va }, { metadata: { finalizers: ['example.com/a'] } })
  const attacher = await t.running({ driver: at.driver }, 'volumeattachments', 'persistentvolumes', 'csinodes')
  await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
  equal((await afterLaterWork(t, { ...at, attacher })).writes, [])
  equal(unpublishes(at), [])
})

test('a VolumeAttachment that is deleted during its publish is unpublished after the publish has ended', async (t) => {
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

test('a VolumeAttachment that was deleted while no attacher ran is unpublished at the start', async (t) => {
  const at = await attachedScene(t)
  await at.attacher.endBy('SIGKILL')
  await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
  await t.sidecar({ driver: at.driver })
  await t.api.untilGone(VOLUME_ATTACHMENTS, { name: at.va })
  equal(unpublishes(at).length, 1)
})

test('a new VolumeAttachment of the same volume and node is published after the detach of the old VolumeAttachment', async (t) => {
  const at = await attachedScene(t)
  await detachAndWait(t, at.va)
  const before = at.driver.callsOf('ControllerPublishVolume').length
  await t.createAttachment('va', at)
  await attached(t)
  ok(at.driver.callsOf('ControllerPublishVolume').length > before)
})

test('a detach fails with a detachError if the CSINode and the node ID annotation are missing', async (t) => {
  const at = await attachedScene(t)
  await t.api.merge(VOLUME_ATTACHMENTS, { name: at.va }, { metadata: { annotations: null } })
  await t.remove(CSI_NODES, { name: at.node })
  await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
  const { status } = await detachFailed(t)
  equal(status?.detachError?.message, `csinode.storage.k8s.io "${at.node}" not found`)
})

test('a missing PV blocks the detach, and detachError shows the reason', async (t) => {
  const at = await attachedScene(t, { args: ['--retry-interval-start=200ms'] })
  await t.remove(PERSISTENT_VOLUMES, { name: at.pv }, () => t.strip(PERSISTENT_VOLUMES, { name: at.pv }))
  await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
  const { status, metadata } = await detachFailed(t)
  equal(status?.detachError?.message, `persistentvolume "${at.pv}" not found`)
  equal(metadata?.finalizers, [at.finalizer])
  equal(unpublishes(at), [])
})

for (const [code, name] of [
  [5, 'NotFound'],
  [13, 'Internal'],
  [4, 'DeadlineExceeded'],
] as const) {
  test(`a detach that fails with ${name} stores detachError without errorCode and is retried`, async (t) => {
    const at = await attachedScene(t, { args: ['--retry-interval-start=500ms'] })
    at.driver.on('ControllerUnpublishVolume', (_, nth) => (nth < 2 ? { code, message: 'no' } : { reply: {} }))
    await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
    const { status, metadata } = await detachFailed(t)
    equal(status?.detachError?.message, `rpc error: code = ${name} desc = no`)
    equal(status?.detachError?.errorCode, undefined)
    equal(status?.attached, true)
    equal(metadata?.finalizers, [at.finalizer])
    await t.api.untilGone(VOLUME_ATTACHMENTS, { name: at.va })
    const [first = 0, second = 0] = gapsOf(unpublishes(at))
    ok(first >= 480 && second >= 960, `retried after ${first} and ${second} ms`)
    const line = await at.attacher.line(`err="failed to detach: rpc error: code = ${name} desc = no"`)
    assertContains(line, '"Error processing"')
  })
}

test('a successful retry of a detach clears detachError', async (t) => {
  const at = await attachedScene(t, { args: ['--retry-interval-start=300ms'], ...HELD })
  at.driver.on('ControllerUnpublishVolume', (_, nth) => (nth < 1 ? { code: 13, message: 'no' } : { reply: {} }))
  await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
  await detachFailed(t)
  const va = await untilDetached(t)
  equal(va.status, { attached: false })
})

test('a detach is repeated if the API server refuses the removal of our finalizer', async (t) => {
  const at = await attachedScene(t, { args: ['--retry-interval-start=300ms'] })
  at.attacher.gate.inject('PATCH volumeattachments', ETCD_TIRED, { times: 1 })
  await detachAndWait(t, at.va)
  equal(unpublishes(at).length, 2)
  const failure = at.attacher.gate.writes('volumeattachments/status').find(({ bytes }) => bytes.includes('detachError'))
  equal(partOf(failure, 'status', 'detachError', 'message'), 'could not mark as detached: etcd is tired')
})

test('a repeated detach error changes only the time in detachError', async (t) => {
  const at = await attachedScene(t, { args: ['--retry-interval-start=1200ms', '--retry-interval-max=1200ms'] })
  at.driver.on('ControllerUnpublishVolume', { code: 13, message: 'no' })
  await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
  await detachFailed(t)
  await eventually('a patch of the time alone', () => writesTimeAlone(at, 'detachError'))
  equal(partOf(at.attacher.gate.writes('volumeattachments/status').at(-1), 'status', 'attached'), undefined)
})

testsOf('attacher', 'writes that fail')(
  'if the API server refuses the status after a detach, the write is retried without a second unpublish',
  async (t) => {
    const at = await attachedScene(t, { args: ['--retry-interval-start=200ms'], ...HELD })
    at.attacher.gate.inject('PATCH volumeattachments/status', ETCD_TIRED, { times: 1 })
    await t.api.delete(VOLUME_ATTACHMENTS, { name: at.va })
    await detachFailed(t, 'could not mark as detached: etcd is tired')
    if (t.ours) {
      const held = await untilDetached(t)
      equal([held.status, held.metadata?.finalizers], [{ attached: false }, ['example.com/a']])
    }
    await afterLaterWork(t, at)
    equal(unpublishes(at).length, 1)
  },
)

const pvFinalizer = testsOf('attacher', 'PV finalizer')

pvFinalizer('the patch that removes our finalizer from a PV checks the position of the finalizer', async (t) => {
  const at = await scene(t)
  const others = ['example.com/a', 'example.com/b']
  const finalizers = ['example.com/a', at.finalizer, 'example.com/b']
  const pv = await t.createVolume('pv', { metadata: { finalizers } })
  const before = await afterLaterWork(t, at)
  equal(before.writes, [])
  await t.api.delete(PERSISTENT_VOLUMES, { name: pv })
  const left = await t.api.until(PERSISTENT_VOLUMES, { name: pv }, ({ metadata }) => metadata?.finalizers?.length === 2)
  equal(left.metadata?.finalizers, others)
  const { writes } = await afterLaterWork(t, at)
  equal(writes.length, 1)
  equal(writes[0]?.contentType, 'application/json-patch+json')
  equal(changeOf(t, writes[0]), [
    { op: 'test', path: '/metadata/finalizers/1', value: at.finalizer },
    { op: 'remove', path: '/metadata/finalizers/1' },
  ])
  ok(at.attacher.linesWith('"Removed finalizer from PersistentVolume"').length > 0)
})

pvFinalizer('a deleted PV in use loses our finalizer when its attachment is deleted', async (t) => {
  const at = await scene(t)
  const names = await attachAndWait(t, at)
  await t.api.delete(PERSISTENT_VOLUMES, { name: names.pv })
  await afterLaterWork(t, at)
  const held = await t.api.get(PERSISTENT_VOLUMES, { name: names.pv })
  equal(held.metadata?.finalizers, [at.finalizer])
  await t.api.delete(VOLUME_ATTACHMENTS, { name: names.va })
  await t.api.untilGone(PERSISTENT_VOLUMES, { name: names.pv })
})

pvFinalizer('a deleted PV keeps our finalizer while a VolumeAttachment of another attacher names the PV', async (t) => {
  const at = await scene(t)
  const other = t.name('other')
  const pv = await t.createVolume('pv', { metadata: { finalizers: [at.finalizer] } })
  const foreign = attachment(other, `not-${t.driverName}`, { pv, node: at.node })
  await t.received(VOLUME_ATTACHMENTS, await t.create(VOLUME_ATTACHMENTS, foreign))
  await t.api.delete(PERSISTENT_VOLUMES, { name: pv })
  equal((await afterLaterWork(t, at)).writes, [])
  await t.api.delete(VOLUME_ATTACHMENTS, { name: other })
  await t.api.untilGone(PERSISTENT_VOLUMES, { name: pv })
})

pvFinalizer('a PV that was deleted while no attacher ran loses our finalizer at the start', async (t) => {
  const pv = await t.createVolume('pv', { metadata: { finalizers: [finalizerOf(t.driverName)] } })
  await t.api.delete(PERSISTENT_VOLUMES, { name: pv })
  await scene(t)
  await t.api.untilGone(PERSISTENT_VOLUMES, { name: pv })
})

pvFinalizer('the attacher does not write a deleted PV without our finalizer', async (t) => {
  const at = await scene(t)
  const finalizers = ['example.com/a', 'external-attacher/other-csi-example-com']
  const pv = await t.createVolume('pv', { metadata: { finalizers } })
  await t.api.delete(PERSISTENT_VOLUMES, { name: pv })
  equal((await afterLaterWork(t, at)).writes, [])
})

pvFinalizer('the driver name in our PV finalizer keeps its capitals and has dashes instead of dots', async (t) => {
  const name = `${t.id}.Some.CSI.example.com`
  const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME'], name })
  const at = await scene(t, { driver })
  const finalizers = [`external-attacher/${t.id}-Some-CSI-example-com`]
  const pv = await t.createVolume('pv', { metadata: { finalizers }, csi: { driver: name } })
  await t.api.delete(PERSISTENT_VOLUMES, { name: pv })
  await t.api.untilGone(PERSISTENT_VOLUMES, { name: pv })
  equal(at.attacher.exit, undefined)
})

pvFinalizer('our finalizer is removed from a PV even if another writer edits the list of finalizers', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=300ms'] })
  const pv = await t.createVolume('pv', { metadata: { finalizers: ['example.com/a', at.finalizer] } })
  await t.received(PERSISTENT_VOLUMES, await t.api.get(PERSISTENT_VOLUMES, { name: pv }))
  // Another writer changes the finalizers immediately before the attacher's patch, which is based on the old list.
  const finalizers = [at.finalizer]
  const moved = (): Fault => ({
    kind: 'wait',
    for: t.api.merge(PERSISTENT_VOLUMES, { name: pv }, { metadata: { finalizers } }),
  })
  at.attacher.gate.inject('PATCH persistentvolumes', moved, { times: 1 })
  await t.api.delete(PERSISTENT_VOLUMES, { name: pv })
  await t.api.untilGone(PERSISTENT_VOLUMES, { name: pv })
  const writes = await at.attacher.gate.settledWrites()
  equal(writes[0]?.code, 422)
  equal(writes.at(-1)?.code, 200)
  equal(changeOf(t, writes.at(-1)), [
    { op: 'test', path: '/metadata/finalizers/0', value: at.finalizer },
    { op: 'remove', path: '/metadata/finalizers/0' },
  ])
})

pvFinalizer('the attacher logs and retries a refused removal of our finalizer from a PV', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=300ms'] })
  const pv = await t.createVolume('pv', { metadata: { finalizers: [at.finalizer] } })
  at.attacher.gate.inject('PATCH persistentvolumes', ETCD_TIRED, { times: 2 })
  await t.received(PERSISTENT_VOLUMES, await t.api.get(PERSISTENT_VOLUMES, { name: pv }))
  await t.api.delete(PERSISTENT_VOLUMES, { name: pv })
  await t.api.untilGone(PERSISTENT_VOLUMES, { name: pv })
  const line = await at.attacher.line('"Failed to remove finalizer from PersistentVolume"')
  ok(line.startsWith('E') && line.includes('etcd is tired') && line.includes(`PersistentVolume="${pv}"`), line)
})
