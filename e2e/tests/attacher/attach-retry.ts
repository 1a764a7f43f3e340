import { deepStrictEqual as equal, ok } from 'node:assert'
import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { attachment, csiNode, volume } from '../../harness/api/objects.ts'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import { type AttacherScene, attach, attached, attachFailed, gapsOf, scene, volumeCalls } from './scene.ts'

const test = testsOf('attacher', 'attach again')

test('backoff: doubles from --retry-interval-start to --retry-interval-max', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=400ms', '--retry-interval-max=1600ms'] })
  at.driver.on('ControllerPublishVolume', { code: 13, message: 'no' })
  await attach(t, at)
  const tries = t.ours ? 6 : 7
  await eventually('enough tries', () => volumeCalls(at.driver).length >= tries)
  // The originals often try a fresh VA twice before they wait, so only the maximum is checked for them.
  const gaps = gapsOf(volumeCalls(at.driver)).slice(t.ours ? 0 : -2)
  const wanted = t.ours ? [400, 800, 1600, 1600, 1600] : [1600, 1600]
  for (const [index, want] of wanted.entries()) {
    const gap = gaps[index] ?? 0
    ok(gap >= want * 0.95 && gap < want * 1.1 + 400, `gaps ${gaps} instead of ${wanted}`)
  }
})

test('backoff resets after a success', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=300ms', '--retry-interval-max=60s'] })
  let failing = true
  at.driver.on('ControllerPublishVolume', () => (failing ? { code: 13, message: 'no' } : { reply: {} }))
  const { va } = await attach(t, at)
  await eventually('three tries', () => volumeCalls(at.driver).length >= 4)
  failing = false
  await attached(t)
  failing = true
  const before = volumeCalls(at.driver).length
  await t.api.merge(VOLUME_ATTACHMENTS, { name: va, subresource: 'status' }, { status: { attached: false } })
  await eventually('three more tries', () => volumeCalls(at.driver).length >= before + 3, { within: 4000 })
})

test('one that fails does not delay others', async (t) => {
  const at = await scene(t)
  const bad = `${t.name('pv-bad')}-handle`
  at.driver.on('ControllerPublishVolume', ({ request }) =>
    request['volume_id'] === bad ? { code: 13, message: 'no' } : { reply: {} },
  )
  await attach(t, at, { suffix: '-bad' })
  await attachFailed(t, '', t.name('va-bad'))
  await attach(t, at, { suffix: '-good' })
  await attached(t, t.name('va-good'))
})

const SLOW_RETRY = { args: ['--retry-interval-start=60s'] }

async function failedOnce(t: TestContext): Promise<AttacherScene & { va: string }> {
  const at = await scene(t, SLOW_RETRY)
  at.driver.on('ControllerPublishVolume', { code: 13, message: 'no' })
  const { va } = await attach(t, at)
  await attachFailed(t)
  // The originals try a fresh VA twice before they wait.
  await pause(700)
  return { ...at, va }
}

test('a change of labels during the backoff causes a retry at once', async (t) => {
  const { driver, va } = await failedOnce(t)
  const before = volumeCalls(driver).length
  await t.api.merge(VOLUME_ATTACHMENTS, { name: va }, { metadata: { labels: { touched: 'yes' } } })
  await eventually('another try', () => volumeCalls(driver).length > before, { within: 3000 })
})

test('another client that edits attachError causes no retry', async (t) => {
  const { driver, attacher, va } = await failedOnce(t)
  const before = volumeCalls(driver).length
  const edit = { status: { attachError: { message: 'edited', time: '2020-01-01T00:00:00Z' } } }
  await t.api.merge(VOLUME_ATTACHMENTS, { name: va, subresource: 'status' }, edit)
  await never('another try', () => volumeCalls(driver).length > before, 1500)
  ok(attacher.linesWith('"Ignoring VolumeAttachment change"').length > 0)
})

test('another client that removes attachError causes no retry', async (t) => {
  const { driver, va } = await failedOnce(t)
  const before = volumeCalls(driver).length
  await t.api.merge(VOLUME_ATTACHMENTS, { name: va, subresource: 'status' }, { status: { attachError: null } })
  await never('another try', () => volumeCalls(driver).length > before, 1500)
})

test('--resync retries ahead of the backoff', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=60s', '--resync=2s'] })
  at.driver.on('ControllerPublishVolume', { code: 13, message: 'no' })
  await attach(t, at)
  await eventually('several tries', () => volumeCalls(at.driver).length >= 4, { within: 20_000 })
})

test('a CSINode that gains the driver triggers a retry at once', { only: 'ours' }, async (t) => {
  const at = await scene(t, SLOW_RETRY)
  const node = t.name('late')
  await t.create(CSI_NODES, csiNode(node, { 'other.example.com': 'x' }))
  await attach(t, { node })
  await attachFailed(t, 'does not contain driver')
  const began = Date.now()
  await t.api.merge(
    CSI_NODES,
    { name: node },
    { spec: { drivers: [{ name: t.driverName, nodeID: 'late-id', topologyKeys: [] }] } },
  )
  await attached(t)
  ok(Date.now() - began < 2000, `woken after ${Date.now() - began} ms`)
  equal(volumeCalls(at.driver)[0]?.request['node_id'], 'late-id')
})

test('a PV that appears triggers a retry at once', { only: 'ours' }, async (t) => {
  const at = await scene(t, SLOW_RETRY)
  const pv = t.name('pv')
  await t.create(VOLUME_ATTACHMENTS, attachment(t.name('va'), t.driverName, { pv, node: at.node }))
  await attachFailed(t, 'not found')
  const began = Date.now()
  await t.create(PERSISTENT_VOLUMES, volume(pv, t.driverName))
  await attached(t)
  ok(Date.now() - began < 2000, `woken after ${Date.now() - began} ms`)
})

test('RetryInfo of the driver sets the next retry', { only: 'ours' }, async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=200ms'] })
  at.driver.on('ControllerPublishVolume', (_, nth) =>
    nth === 0 ? { code: 14, message: 'busy', retryInfo: { seconds: 2 } } : { reply: {} },
  )
  await attach(t, at)
  await attached(t)
  const [gap = 0] = gapsOf(volumeCalls(at.driver))
  ok(gap > 1800 && gap < 2700, `retried after ${gap} ms`)
})

test('a PV that is recreated triggers the detach at once', { only: 'ours' }, async (t) => {
  const at = await scene(t, SLOW_RETRY)
  const { pv, va } = await attach(t, at)
  await attached(t)
  await t.api.delete(PERSISTENT_VOLUMES, { name: pv })
  await t.api.merge(PERSISTENT_VOLUMES, { name: pv }, { metadata: { finalizers: null } })
  await pause(300)
  await t.api.delete(VOLUME_ATTACHMENTS, { name: va })
  await t.api.until(VOLUME_ATTACHMENTS, { name: va }, ({ status }) => status?.detachError != null)
  const began = Date.now()
  await t.create(PERSISTENT_VOLUMES, volume(pv, t.driverName))
  await eventually('the end of the VA', async () => (await t.api.find(VOLUME_ATTACHMENTS, { name: va })) === undefined)
  ok(Date.now() - began < 2000, `woken after ${Date.now() - began} ms`)
})

test('RetryInfo sets the next detach, within --retry-interval-max', { only: 'ours' }, async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=200ms', '--retry-interval-max=500ms'] })
  const { va } = await attach(t, at)
  await attached(t)
  at.driver.on('ControllerUnpublishVolume', (_, nth) =>
    nth === 0 ? { code: 8, message: 'busy', retryInfo: { seconds: 3600 } } : { reply: {} },
  )
  await t.api.delete(VOLUME_ATTACHMENTS, { name: va })
  await eventually('the end of the VA', async () => (await t.api.find(VOLUME_ATTACHMENTS, { name: va })) === undefined)
  const [gap = 0] = gapsOf(at.driver.callsOf('ControllerUnpublishVolume'))
  ok(gap > 400 && gap < 1200, `retried after ${gap} ms`)
})

test('--resync=0 never retries ahead of the backoff', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=60s', '--resync=0'] })
  at.driver.on('ControllerPublishVolume', { code: 13, message: 'no' })
  await attach(t, at)
  await attachFailed(t)
  await pause(700)
  const before = volumeCalls(at.driver).length
  await never('another try', () => volumeCalls(at.driver).length > before, 2500)
})

test('refused until the volume is detached from another node: retried when our detach is done', {
  only: 'ours',
}, async (t) => {
  const at = await scene(t, SLOW_RETRY)
  const other = t.name('node-other')
  await t.create(CSI_NODES, csiNode(other, { [t.driverName]: `${other}-id` }))
  const { pv, va } = await attach(t, at)
  await attached(t)
  let elsewhere = true
  at.driver.on('ControllerPublishVolume', () =>
    elsewhere ? { code: 9, message: 'attached elsewhere' } : { reply: {} },
  )
  at.driver.on('ControllerUnpublishVolume', () => {
    elsewhere = false
    return { reply: {} }
  })
  await t.create(VOLUME_ATTACHMENTS, attachment(t.name('va-other'), t.driverName, { pv, node: other }))
  await attachFailed(t, 'attached elsewhere', t.name('va-other'))
  await t.api.delete(VOLUME_ATTACHMENTS, { name: va })
  await attached(t, t.name('va-other'), { within: 3000 })
})

test('corrected access modes cause a retry at once', { only: 'ours' }, async (t) => {
  const at = await scene(t, SLOW_RETRY)
  const { pv } = await attach(t, at, { pv: { accessModes: ['ReadOnlyMany', 'ReadWriteOnce'] } })
  await attachFailed(t, 'CSI does not support')
  await t.api.merge(PERSISTENT_VOLUMES, { name: pv }, { spec: { accessModes: ['ReadWriteOnce'] } })
  await attached(t, t.name('va'), { within: 3000 })
})
