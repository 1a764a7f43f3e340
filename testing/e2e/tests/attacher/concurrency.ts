import { deepStrictEqual as equal, ok } from 'node:assert'
import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { tooMany } from '../../harness/api/gate.ts'
import type { Call } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import {
  allAttached,
  attach,
  attachAll,
  attachAndWait,
  attached,
  publishes,
  scene,
  suffixes,
  volumeCalls,
} from '../../rows/attacher/scene.ts'

const test = testsOf('attacher', 'concurrency')

/** Returns the largest number of calls that ran at the same time. */
function mostAtOnce(calls: readonly Call[]): number {
  const runningAt = (time: number): number =>
    calls.filter(({ start, end = Infinity }) => start <= time && end > time).length
  return Math.max(0, ...calls.map(({ start }) => runningAt(start)))
}

test('volumes are attached one after the other with --worker-threads=1', async (t) => {
  const at = await scene(t, { args: ['--worker-threads=1'] })
  at.driver.on('ControllerPublishVolume', { reply: {}, after: 150 })
  await attachAll(t, at, suffixes(5))
  equal(mostAtOnce(volumeCalls(at.driver)), 1)
})

test('hanging detaches do not starve attaches', { only: 'ours', within: 180_000 }, async (t) => {
  const args = ['--timeout=10s', '--retry-interval-start=100ms', '--retry-interval-max=1s']
  const at = await scene(t, { args })
  const stuck = suffixes(60)
  await attachAll(t, at, stuck)
  at.driver.on('ControllerUnpublishVolume', 'hang')
  await Promise.all(stuck.map((suffix) => t.api.delete(VOLUME_ATTACHMENTS, { name: t.name(`va${suffix}`) })))
  await eventually('hanging detaches', () => at.driver.callsOf('ControllerUnpublishVolume').length >= 5)
  const fresh = suffixes(10).map((suffix) => `-fresh${suffix}`)
  const began = Date.now()
  await attachAll(t, at, fresh)
  const handles = new Set(fresh.map((suffix) => `${t.name(`pv${suffix}`)}-handle`))
  const starts = publishes(at).filter(({ request }) => handles.has(String(request['volume_id'])))
  const last = Math.max(...starts.map(({ start }) => start)) - began
  ok(last < 8000, `the last attach reached the driver after ${last} ms`)
  at.driver.on('ControllerUnpublishVolume', { reply: {} })
})

test('publishes of two PVs with the same volume handle never overlap if one PV is single-node', {
  only: 'ours',
}, async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerPublishVolume', { reply: {}, after: 500 })
  const csi = { volumeHandle: t.name('shared') }
  const modes = [['ReadWriteOnce'], ['ReadWriteMany'], ['ReadWriteOnce'], ['ReadWriteMany']]
  for (const [index, accessModes] of modes.entries()) {
    await t.createNode(`node-${index}`)
    await t.createVolume(`pv-${index}`, { accessModes, csi })
  }
  await t.received(PERSISTENT_VOLUMES, await t.api.get(PERSISTENT_VOLUMES, { name: t.name('pv-3') }))
  const indexes = [...modes.keys()]
  await Promise.all(
    indexes.map((index) =>
      t.createAttachment(`va-${index}`, { pv: t.name(`pv-${index}`), node: t.name(`node-${index}`) }),
    ),
  )
  for (const index of indexes) await attached(t, t.name(`va-${index}`))
  const calls = volumeCalls(at.driver)
  const alone = calls.filter(({ request }) =>
    ['node-0-id', 'node-2-id'].includes(String(request['node_id']).replace(`${t.id}-`, '')),
  )
  equal([calls.length, alone.length], [4, 2])
  for (const { start, end = Infinity } of alone) {
    const beside = calls.filter((other) => other.start < end && (other.end ?? Infinity) > start)
    equal(beside.length, 1)
  }
})

test('a multi-node volume is attached to its nodes in parallel, even if one of the calls hangs', async (t) => {
  const at = await scene(t)
  const hangs = ({ request }: Pick<Call, 'request'>): boolean => request['node_id'] === `${at.node}-id`
  const others = suffixes(4)
  // The driver answers only when the calls for all five nodes run at the same time.
  const { promise: after, resolve: answer } = Promise.withResolvers<void>()
  at.driver.on('ControllerPublishVolume', (call) => {
    const running = volumeCalls(at.driver).filter(({ end }) => end === undefined)
    if (running.length > others.length) answer()
    return hangs(call) ? 'hang' : { reply: {}, after }
  })
  const { pv } = await attach(t, at, { pv: { accessModes: ['ReadWriteMany'] } })
  for (const suffix of others) {
    const node = await t.createNode(`node${suffix}`)
    await t.received(CSI_NODES, await t.api.get(CSI_NODES, { name: node }))
    await t.createAttachment(`va${suffix}`, { pv, node })
  }
  await allAttached(t, others)
})

test('--kube-api-qps and --kube-api-burst limit the requests to the API server', { alone: 'machine' }, async (t) => {
  const at = await scene(t, { args: ['--kube-api-qps=5', '--kube-api-burst=10'] })
  const began = Date.now()
  await attachAll(t, at, suffixes(14))
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

test('a 429 of the API server delays the attach and causes no attachError', async (t) => {
  const at = await scene(t)
  at.attacher.gate.inject('PATCH volumeattachments', tooMany(1), { times: 2 })
  const began = Date.now()
  const { status } = (await attachAndWait(t, at)).object
  equal(status?.attachError, undefined)
  ok(Date.now() - began > 1900, `attached after ${Date.now() - began} ms`)
  const writes = at.attacher.gate.writes('volumeattachments/status')
  equal(
    writes.filter(({ bytes }) => bytes.includes('message')),
    [],
  )
})
