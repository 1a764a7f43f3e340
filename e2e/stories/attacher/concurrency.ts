import { deepStrictEqual as equal, ok } from 'node:assert'
import { CSI_NODES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import type { Call } from '../../harness/driver.ts'
import { attachment, csiNode } from '../../harness/objects.ts'
import { storiesOf } from '../../harness/story.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import { attach, attached, scene, volumeCalls } from './scene.ts'

const story = storiesOf('attacher', 'concurrency')

/** The most calls that ran at one time. */
function mostAtOnce(calls: readonly Call[]): number {
  return Math.max(
    0,
    ...calls.map(
      (each) => calls.filter((other) => other.start <= each.start && (other.end ?? Infinity) > each.start).length,
    ),
  )
}

const suffixes = (count: number): string[] => Array.from({ length: count }, (_, index) => `-${index}`)

story('--worker-threads=1: one at a time', async (t) => {
  const at = await scene(t, { args: ['--worker-threads=1'] })
  at.driver.on('ControllerPublishVolume', { reply: {}, after: 150 })
  for (const suffix of suffixes(5)) await attach(t, at, { suffix })
  for (const suffix of suffixes(5)) await attached(t, t.name(`va${suffix}`))
  equal(mostAtOnce(volumeCalls(at.driver)), 1)
})

story('ten volumes at once by default, never more', async (t) => {
  const at = await scene(t, { args: ['--kube-api-qps=1000', '--kube-api-burst=1000'] })
  at.driver.on('ControllerPublishVolume', { reply: {}, after: 1500 })
  await Promise.all(suffixes(14).map((suffix) => attach(t, at, { suffix })))
  for (const suffix of suffixes(14)) await attached(t, t.name(`va${suffix}`))
  equal(mostAtOnce(volumeCalls(at.driver)), 10)
})

story('one hanging call holds nobody else', async (t) => {
  const at = await scene(t)
  const slow = `${t.name('pv-slow')}-handle`
  at.driver.on('ControllerPublishVolume', ({ request }) => (request['volume_id'] === slow ? 'hang' : { reply: {} }))
  await attach(t, at, { suffix: '-slow' })
  await eventually('the slow call', () => volumeCalls(at.driver).length > 0)
  await attach(t, at, { suffix: '-b' })
  await attached(t, t.name('va-b'))
})

story('attaches are not starved by detaches that hang', { only: 'ours', within: 180_000 }, async (t) => {
  const args = ['--timeout=3s', '--retry-interval-start=100ms', '--retry-interval-max=1s']
  const at = await scene(t, { args })
  const stuck = suffixes(60)
  await Promise.all(stuck.map((suffix) => attach(t, at, { suffix })))
  for (const suffix of stuck) await attached(t, t.name(`va${suffix}`))
  at.driver.on('ControllerUnpublishVolume', 'hang')
  await Promise.all(stuck.map((suffix) => t.api.delete(VOLUME_ATTACHMENTS, { name: t.name(`va${suffix}`) })))
  await eventually('hanging detaches', () => at.driver.callsOf('ControllerUnpublishVolume').length >= 5)
  await pause(1500)
  const fresh = suffixes(10).map((suffix) => `-fresh${suffix}`)
  const began = Date.now()
  await Promise.all(fresh.map((suffix) => attach(t, at, { suffix })))
  for (const suffix of fresh) await attached(t, t.name(`va${suffix}`))
  const handles = new Set(fresh.map((suffix) => `${t.name(`pv${suffix}`)}-handle`))
  const starts = at.driver
    .callsOf('ControllerPublishVolume')
    .filter(({ request }) => handles.has(String(request['volume_id'])))
  const last = Math.max(...starts.map(({ start }) => start)) - began
  ok(last < 2500, `the last attach reached the driver after ${last} ms`)
  at.driver.on('ControllerUnpublishVolume', { reply: {} })
})

story('never two calls for one single-node volume at once', { only: 'ours' }, async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerPublishVolume', { reply: {}, after: 400 })
  const { pv } = await attach(t, at)
  for (const suffix of ['-b', '-c']) {
    await t.create(VOLUME_ATTACHMENTS, attachment(t.name(`va${suffix}`), t.driverName, { pv, node: at.node }))
  }
  for (const suffix of ['', '-b', '-c']) await attached(t, t.name(`va${suffix}`))
  equal(mostAtOnce(volumeCalls(at.driver)), 1)
  equal(volumeCalls(at.driver).length, 3)
})

story('never two calls for one handle, whichever volumes name it', { only: 'ours' }, async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerPublishVolume', { reply: {}, after: 300 })
  for (const suffix of suffixes(3)) await attach(t, at, { suffix, pv: { csi: { volumeHandle: t.name('shared') } } })
  for (const suffix of suffixes(3)) await attached(t, t.name(`va${suffix}`))
  equal(mostAtOnce(volumeCalls(at.driver)), 1)
})

story('a volume of many nodes is attached to them side by side, and one that hangs blocks no other', async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerPublishVolume', ({ request }) =>
    request['node_id'] === `${at.node}-id` ? 'hang' : { reply: {}, after: 500 },
  )
  const { pv } = await attach(t, at, { pv: { accessModes: ['ReadWriteMany'] } })
  for (const suffix of suffixes(4)) {
    const node = t.name(`node${suffix}`)
    await t.create(CSI_NODES, csiNode(node, { [t.driverName]: node }))
    await pause(100)
    await t.create(VOLUME_ATTACHMENTS, attachment(t.name(`va${suffix}`), t.driverName, { pv, node }))
  }
  for (const suffix of suffixes(4)) await attached(t, t.name(`va${suffix}`))
  ok(mostAtOnce(volumeCalls(at.driver)) >= 3)
  equal(volumeCalls(at.driver)[0]?.end, undefined)
})

story('--max-inflight-per-node caps a node', { only: 'ours' }, async (t) => {
  const at = await scene(t, { args: ['--max-inflight-per-node=2'] })
  at.driver.on('ControllerPublishVolume', { reply: {}, after: 300 })
  for (const suffix of suffixes(6)) await attach(t, at, { suffix })
  for (const suffix of suffixes(6)) await attached(t, t.name(`va${suffix}`))
  equal(mostAtOnce(volumeCalls(at.driver)), 2)
})

story('--kube-api-qps and --kube-api-burst bound the requests', { alone: true }, async (t) => {
  const at = await scene(t, { args: ['--kube-api-qps=5', '--kube-api-burst=10'] })
  await pause(3000)
  const began = Date.now()
  await Promise.all(suffixes(14).map((suffix) => attach(t, at, { suffix })))
  for (const suffix of suffixes(14)) await attached(t, t.name(`va${suffix}`))
  const requests = at.attacher.gate.requests.filter(
    ({ time, watch, resource }) => time >= began && !watch && resource !== 'leases',
  )
  for (const { time } of requests) {
    const inOneSecond = requests.filter((other) => other.time >= time && other.time < time + 1000).length
    ok(inOneSecond <= 17, `${inOneSecond} requests in a second`)
    const inFive = requests.filter((other) => other.time >= time && other.time < time + 5000).length
    ok(inFive <= 38, `${inFive} requests in five seconds`)
  }
  ok(requests.length >= 40, `${requests.length} requests`)
})

story('a 429 delays and is never an attach error', async (t) => {
  const at = await scene(t)
  let refused = 0
  at.attacher.gate.rules.push(({ method, resource }) => {
    if (method !== 'PATCH' || resource !== 'volumeattachments' || refused >= 2) return undefined
    refused += 1
    const body = {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      message: 'slow down',
      reason: 'TooManyRequests',
      code: 429,
    }
    return { kind: 'answer', code: 429, body, headers: { 'retry-after': '1' } }
  })
  const began = Date.now()
  await attach(t, at)
  const { status } = await attached(t)
  equal(status?.attachError, undefined)
  ok(Date.now() - began > 1900, `attached after ${Date.now() - began} ms`)
  equal(
    at.attacher.gate.writes('volumeattachments/status').filter(({ body }) => JSON.stringify(body).includes('message')),
    [],
  )
})
