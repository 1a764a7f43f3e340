import { deepStrictEqual as equal, ok } from 'node:assert'
import { VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { attachment } from '../../harness/api/objects.ts'
import { ETCD_TIRED } from '../../harness/api/write-faults.ts'
import { testsOf } from '../../harness/test.ts'
import { never, pause } from '../../harness/waiting.ts'
import { attached, changeOf, finalizerOf, outline, volumeCalls } from './scene.ts'

const test = testsOf('attacher', 'trivial handler')

for (const [what, controllerService, reason] of [
  ['without CONTROLLER_SERVICE', false, 'Plugin Controller Service'],
  ['without PUBLISH_UNPUBLISH_VOLUME', true, 'ControllerPublishUnpublish'],
] as const) {
  test(`${what}: marked attached by one write, no call, no finalizer`, async (t) => {
    const driver = await t.driver({ controllerService, controller: ['EXPAND_VOLUME'] })
    const attacher = await t.running({ driver }, 'volumeattachments')
    const line = `CSI driver does not support ${reason}, using trivial handler`
    ok((await attacher.line(line)).startsWith('I'))
    const csi = { controllerPublishSecretRef: await t.createSecret({ a: 'b' }) }
    const pv = await t.createVolume('pv', { csi })
    await t.createAttachment('va', { pv, node: 'nowhere' })
    const va = await attached(t)
    equal(va.status, { attached: true })
    equal(va.metadata?.finalizers, undefined)
    equal(va.metadata?.annotations, undefined)
    await pause(300)
    const writes = await attacher.gate.settledWrites()
    equal(outline(t, writes), ['PATCH volumeattachments/status 200'])
    equal(writes[0]?.contentType, 'application/merge-patch+json')
    equal(changeOf(t, writes[0]), { status: { attached: true } })
    equal(volumeCalls(driver), [])
    equal(attacher.gate.requestsOf('secrets'), [])
    await t.api.delete(VOLUME_ATTACHMENTS, { name: t.name('va') })
    equal(await t.api.find(VOLUME_ATTACHMENTS, { name: t.name('va') }), undefined)
    if (!controllerService) equal(driver.callsOf('ControllerGetCapabilities'), [])
  })
}

test('a PV that does not exist does not matter', async (t) => {
  const driver = await t.driver()
  await t.running({ driver }, 'volumeattachments')
  await t.createAttachment('va', { pv: t.name('no'), node: 'n' })
  await attached(t)
})

test('a VA of another attacher is ignored', async (t) => {
  const driver = await t.driver()
  const attacher = await t.running({ driver }, 'volumeattachments')
  await t.create(VOLUME_ATTACHMENTS, attachment(t.name('va'), `not-${t.driverName}`, { pv: 'x', node: 'n' }))
  await never('a write', () => attacher.gate.writes().length > 0, 700)
})

test('a former finalizer stays; the VA is marked attached even while it is being deleted', async (t) => {
  const driver = await t.driver()
  const finalizers = [finalizerOf(t.driverName)]
  await t.createAttachment('va', { pv: 'x', node: 'n', metadata: { finalizers } })
  await t.api.delete(VOLUME_ATTACHMENTS, { name: t.name('va') })
  const attacher = await t.sidecar({ driver })
  const marked = await attached(t)
  equal(marked.metadata?.finalizers, finalizers)
  await never('a second write', () => attacher.gate.writes().length > 1, 700)
})

test('a refused patch is logged and retried with backoff', async (t) => {
  const driver = await t.driver()
  const attacher = await t.sidecar({ driver, args: ['--retry-interval-start=300ms'] })
  attacher.gate.inject('PATCH volumeattachments/status', ETCD_TIRED, { times: 2 })
  await t.watching(attacher, 'volumeattachments')
  await t.createAttachment('va', { pv: 'x', node: 'n' })
  await attached(t)
  const line = await attacher.line('"Error saving VolumeAttachment as attached"')
  ok(line.startsWith('E') && line.includes('err="etcd is tired"'), line)
})
