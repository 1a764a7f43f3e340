import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUMES, SECRETS, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { refusal } from '../../harness/api/gate.ts'
import { attachment, secret, volume } from '../../harness/api/objects.ts'
import { testsOf } from '../../harness/test.ts'
import { never, pause } from '../../harness/waiting.ts'
import { attached, changeOf, finalizerOf, outline, volumeCalls } from './scene.ts'

const test = testsOf('attacher', 'trivial handler')

for (const [what, capabilities, line] of [
  [
    'without CONTROLLER_SERVICE',
    { controllerService: false },
    'CSI driver does not support Plugin Controller Service, using trivial handler',
  ],
  [
    'without PUBLISH_UNPUBLISH_VOLUME',
    { controller: ['EXPAND_VOLUME' as const] },
    'CSI driver does not support ControllerPublishUnpublish, using trivial handler',
  ],
] as const) {
  test(`${what}: marked attached by one write, no call, no finalizer`, async (t) => {
    const driver = await t.driver(
      'controller' in capabilities ? { controller: [...capabilities.controller] } : capabilities,
    )
    const attacher = await t.sidecar({ driver })
    await t.watching(attacher, 'volumeattachments')
    ok((await attacher.line(line)).startsWith('I'))
    const secretName = t.name('secret')
    await t.create(SECRETS, secret('default', secretName, { a: 'b' }))
    const pv = volume(t.name('pv'), t.driverName, {
      csi: { controllerPublishSecretRef: { name: secretName, namespace: 'default' } },
    })
    await t.create(PERSISTENT_VOLUMES, pv)
    await t.create(VOLUME_ATTACHMENTS, attachment(t.name('va'), t.driverName, { pv: t.name('pv'), node: 'nowhere' }))
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
    equal(
      attacher.gate.requests.filter(({ resource }) => resource === 'secrets'),
      [],
    )
    await t.api.delete(VOLUME_ATTACHMENTS, { name: t.name('va') })
    equal(await t.api.find(VOLUME_ATTACHMENTS, { name: t.name('va') }), undefined)
    if ('controllerService' in capabilities) equal(driver.callsOf('ControllerGetCapabilities'), [])
  })
}

test('a PV that does not exist does not matter', async (t) => {
  const driver = await t.driver()
  const attacher = await t.sidecar({ driver })
  await t.watching(attacher, 'volumeattachments')
  await t.create(VOLUME_ATTACHMENTS, attachment(t.name('va'), t.driverName, { pv: t.name('no'), node: 'n' }))
  await attached(t)
})

test('a VA of another attacher is ignored', async (t) => {
  const driver = await t.driver()
  const attacher = await t.sidecar({ driver })
  await t.watching(attacher, 'volumeattachments')
  await t.create(VOLUME_ATTACHMENTS, attachment(t.name('va'), `not-${t.driverName}`, { pv: 'x', node: 'n' }))
  await never('a write', () => attacher.gate.writes().length > 0, 700)
})

test('a former finalizer stays; the VA is marked attached even while it is being deleted', async (t) => {
  const driver = await t.driver()
  const finalizer = finalizerOf(t.driverName)
  const va = t.name('va')
  const metadata = { finalizers: [finalizer] }
  await t.create(VOLUME_ATTACHMENTS, attachment(va, t.driverName, { pv: 'x', node: 'n', metadata }))
  await t.api.delete(VOLUME_ATTACHMENTS, { name: va })
  const attacher = await t.sidecar({ driver })
  const marked = await attached(t)
  equal(marked.metadata?.finalizers, [finalizer])
  await never('a second write', () => attacher.gate.writes().length > 1, 700)
})

test('a refused patch is logged and retried with backoff', async (t) => {
  const driver = await t.driver()
  const attacher = await t.sidecar({ driver, args: ['--retry-interval-start=300ms'] })
  let refused = 0
  attacher.gate.rules.push(({ resource }) => {
    if (resource !== 'volumeattachments/status') return undefined
    refused += 1
    return refused < 3 ? refusal(500, 'InternalError', 'etcd is tired') : undefined
  })
  await t.watching(attacher, 'volumeattachments')
  await t.create(VOLUME_ATTACHMENTS, attachment(t.name('va'), t.driverName, { pv: 'x', node: 'n' }))
  await attached(t)
  const line = await attacher.line('"Error saving VolumeAttachment as attached"')
  ok(line.startsWith('E') && line.includes('err="etcd is tired"'), line)
})
