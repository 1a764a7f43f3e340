import { deepStrictEqual as equal, ok } from 'node:assert'
import { CSI_NODES } from '@csi-sidecars/kube-types'
import { tooMany } from '../../harness/api/gate.ts'
import type { Call } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import {
  allAttached,
  attach,
  attachAll,
  attachAndWait,
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
