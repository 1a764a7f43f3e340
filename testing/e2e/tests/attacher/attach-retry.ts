import { deepStrictEqual as equal, ok } from 'node:assert'
import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import { detachFailed } from './detach-scene.ts'
import {
  type AttacherScene,
  attach,
  attachAndWait,
  attached,
  attachFailed,
  detachAndWait,
  editAttachment,
  editStatus,
  gapsOf,
  scene,
  unpublishes,
  volumeCalls,
} from './scene.ts'

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
  await attach(t, at)
  await eventually('three tries', () => volumeCalls(at.driver).length >= 4)
  failing = false
  await attached(t)
  failing = true
  const before = volumeCalls(at.driver).length
  await editStatus(t, { attached: false })
  await eventually('three more tries', () => volumeCalls(at.driver).length >= before + 3, { within: 4000 })
})

test('a failing attach does not delay others', async (t) => {
  const at = await scene(t)
  const bad = `${t.name('pv-bad')}-handle`
  at.driver.on('ControllerPublishVolume', ({ request }) =>
    request['volume_id'] === bad ? { code: 13, message: 'no' } : { reply: {} },
  )
  await attach(t, at, { suffix: '-bad' })
  await attachFailed(t, '', t.name('va-bad'))
  await attachAndWait(t, at, { suffix: '-good' })
})

const SLOW_RETRY = { args: ['--retry-interval-start=60s'] }

async function failedOnce(t: TestContext): Promise<AttacherScene> {
  const at = await scene(t, SLOW_RETRY)
  at.driver.on('ControllerPublishVolume', { code: 13, message: 'no' })
  await attach(t, at)
  await attachFailed(t)
  // The originals try a fresh VA twice before they wait.
  await pause(700)
  return at
}

test('a change of labels during the backoff causes a retry at once', async (t) => {
  const { driver } = await failedOnce(t)
  const before = volumeCalls(driver).length
  await editAttachment(t, { metadata: { labels: { touched: 'yes' } } })
  await eventually('another try', () => volumeCalls(driver).length > before, { within: 3000 })
})

test('another client that edits attachError causes no retry', async (t) => {
  const { driver, attacher } = await failedOnce(t)
  const before = volumeCalls(driver).length
  await editStatus(t, { attachError: { message: 'edited', time: '2020-01-01T00:00:00Z' } })
  await never('another try', () => volumeCalls(driver).length > before, 1500)
  ok(attacher.linesWith('"Ignoring VolumeAttachment change"').length > 0)
})

test('another client that removes attachError causes no retry', async (t) => {
  const { driver } = await failedOnce(t)
  const before = volumeCalls(driver).length
  await editStatus(t, { attachError: null })
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
  const node = await t.createNode('late', { driver: 'other.example.com' })
  await attach(t, { node })
  await attachFailed(t, 'does not contain driver')
  const drivers = [{ name: t.driverName, nodeID: 'late-id', topologyKeys: [] }]
  await t.api.merge(CSI_NODES, { name: node }, { spec: { drivers } })
  await attached(t, t.name('va'), { within: 2000 })
  equal(volumeCalls(at.driver)[0]?.request['node_id'], 'late-id')
})

test('a PV that appears triggers a retry at once', { only: 'ours' }, async (t) => {
  const at = await scene(t, SLOW_RETRY)
  await t.createAttachment('va', { pv: t.name('pv'), node: at.node })
  await attachFailed(t, 'not found')
  await t.createVolume('pv')
  await attached(t, t.name('va'), { within: 2000 })
})

test('RetryInfo of the driver sets the next retry', { only: 'ours' }, async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=200ms'] })
  at.driver.on('ControllerPublishVolume', (_, nth) =>
    nth === 0 ? { code: 14, message: 'busy', retryInfo: { seconds: 2 } } : { reply: {} },
  )
  await attachAndWait(t, at)
  const [gap = 0] = gapsOf(volumeCalls(at.driver))
  ok(gap > 1800 && gap < 2700, `retried after ${gap} ms`)
})

test('a PV that is recreated triggers the detach at once', { only: 'ours' }, async (t) => {
  const at = await scene(t, SLOW_RETRY)
  const { pv, va } = await attachAndWait(t, at)
  await t.strip(PERSISTENT_VOLUMES, { name: pv })
  await pause(300)
  await t.api.delete(VOLUME_ATTACHMENTS, { name: va })
  await detachFailed(t)
  await t.createVolume('pv')
  await t.api.untilGone(VOLUME_ATTACHMENTS, { name: va }, { within: 2000 })
})

test('RetryInfo sets the next detach, within --retry-interval-max', { only: 'ours' }, async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=200ms', '--retry-interval-max=500ms'] })
  const { va } = await attachAndWait(t, at)
  at.driver.on('ControllerUnpublishVolume', (_, nth) =>
    nth === 0 ? { code: 8, message: 'busy', retryInfo: { seconds: 3600 } } : { reply: {} },
  )
  await detachAndWait(t, va)
  const [gap = 0] = gapsOf(unpublishes(at))
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
  const other = await t.createNode('node-other')
  const { pv, va } = await attachAndWait(t, at)
  let elsewhere = true
  at.driver.on('ControllerPublishVolume', () =>
    elsewhere ? { code: 9, message: 'attached elsewhere' } : { reply: {} },
  )
  at.driver.on('ControllerUnpublishVolume', () => {
    elsewhere = false
    return { reply: {} }
  })
  await t.createAttachment('va-other', { pv, node: other })
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
