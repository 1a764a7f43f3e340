import { deepStrictEqual as equal, ok } from 'node:assert'
import { VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import type { WireRequest } from '../../harness/api/wire.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import {
  allAttached,
  attach,
  attachAndWait,
  attached,
  detachAndWait,
  scene,
  suffixes,
  volumeCalls,
} from '../attacher/scene.ts'
import { conditionsOf, expands, raised, resized, scene as resizerScene } from '../resizer/scene.ts'

const test = testsOf('attacher', 'API loss')
const resizer = testsOf('resizer', 'API loss')

const QUICK = ['--retry-interval-start=200ms', '--retry-interval-max=1s']
const ELECTION = [
  '--leader-election',
  '--leader-election-lease-duration=6s',
  '--leader-election-renew-deadline=4s',
  '--leader-election-retry-period=1s',
]

for (const awayMs of [5000, 40_000]) {
  test(`unreachable for ${awayMs / 1000} s with a call under way: no exit, no attach error, all done after`, {
    only: 'ours',
    ...(awayMs > 5000 && { long: 'real' }),
  }, async (t) => {
    const at = await scene(t, { args: [...QUICK, ...ELECTION] })
    at.driver.on('ControllerPublishVolume', { reply: { publishContext: { a: 'b' } }, after: 1500 })
    await attach(t, at, { suffix: '-a' })
    await eventually('a call', () => volumeCalls(at.driver).length > 0)
    await at.attacher.gate.close()
    await attach(t, at, { suffix: '-b' })
    await pause(awayMs)
    await at.attacher.gate.open()
    const back = Date.now()
    const { status } = await attached(t, t.name('va-a'))
    equal(status, { attached: true, attachmentMetadata: { a: 'b' } })
    await attached(t, t.name('va-b'))
    ok(Date.now() - back < 12_000, `${Date.now() - back} ms`)
    equal(at.attacher.exit, undefined)
  })
}

test('unreachable for a moment without leader election', async (t) => {
  const at = await scene(t, { args: QUICK })
  await at.attacher.gate.close()
  await attach(t, at)
  await pause(3000)
  await at.attacher.gate.open()
  await attached(t)
  equal(at.attacher.exit, undefined)
})

test('unreachable at start: the sidecar waits, and works once it is reachable', { only: 'ours' }, async (t) => {
  const gate = await t.gate()
  await gate.close()
  const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME'] })
  const sidecar = await t.sidecar({ driver, gate })
  await pause(4000)
  equal(sidecar.exit, undefined)
  await gate.open()
  await t.watching(sidecar, 'volumeattachments')
})

test('watches that are dropped repeatedly lose no event', async (t) => {
  const at = await scene(t, { args: [...QUICK, '--kube-api-qps=200', '--kube-api-burst=200'] })
  const rounds = suffixes(12)
  for (const suffix of rounds) {
    await attach(t, at, { suffix })
    at.attacher.gate.dropWatches()
    await pause(100)
  }
  await allAttached(t, rounds)
  for (const [round, suffix] of rounds.entries()) {
    await t.api.delete(VOLUME_ATTACHMENTS, { name: t.name(`va${suffix}`) })
    if (round % 3 === 0) at.attacher.gate.dropWatches('volumeattachments')
  }
  for (const suffix of rounds) await t.api.untilGone(VOLUME_ATTACHMENTS, { name: t.name(`va${suffix}`) })
})

test('a dropped watch is resumed without a new list', { only: 'ours' }, async (t) => {
  const at = await scene(t)
  await attachAndWait(t, at, { suffix: '-a' })
  const mark = at.attacher.gate.requests.length
  at.attacher.gate.dropWatches()
  await attachAndWait(t, at, { suffix: '-b' })
  const later = at.attacher.gate.requests.slice(mark).filter(({ method }) => method === 'GET')
  // GET /version, which checks the connections a second after the first stream, names no resource.
  const isList = ({ resource, watch, name, query }: WireRequest): boolean =>
    resource !== '' && name === undefined && (!watch || query['sendInitialEvents'] === 'true')
  equal(later.filter(isList), [])
})

resizer('unreachable for 5 s with a call under way: finished after', { only: 'ours' }, async (t) => {
  const at = await resizerScene(t, { args: [...QUICK, ...ELECTION] })
  at.driver.on('ControllerExpandVolume', { reply: {}, after: 1500 })
  await raised(t)
  await eventually('a call', () => expands(at).length > 0)
  await at.resizer.gate.close()
  await pause(5000)
  await at.resizer.gate.open()
  const claim = await resized(t, '2Gi')
  equal(conditionsOf(claim), [])
  equal(at.resizer.exit, undefined)
})

test('the API server is restarted: watches resume, work continues', { target: 'real', alone: true }, async (t) => {
  const at = await scene(t, { args: QUICK })
  await attachAndWait(t, at, { suffix: '-a' })
  await t.cluster.restart(async () => undefined)
  await attachAndWait(t, at, { suffix: '-b' })
  await detachAndWait(t, t.name('va-a'))
  equal(at.attacher.exit, undefined)
})

test('etcd is compacted while the watches are closed: a new list, and no event is missed', {
  target: 'real',
  alone: true,
}, async (t) => {
  const at = await scene(t, { args: QUICK })
  await attachAndWait(t, at, { suffix: '-a' })
  await at.attacher.gate.close()
  await attach(t, at, { suffix: '-b' })
  await t.api.delete(VOLUME_ATTACHMENTS, { name: t.name('va-a') })
  await t.cluster.restart(() => t.cluster.compact())
  await attach(t, at, { suffix: '-c' })
  await at.attacher.gate.open()
  await allAttached(t, ['-b', '-c'])
  await t.api.untilGone(VOLUME_ATTACHMENTS, { name: t.name('va-a') })
})

test('a watch that is too old lists again, and no event is missed', { target: 'emulator', alone: true }, async (t) => {
  const at = await scene(t, { args: QUICK })
  await at.attacher.gate.close()
  await attach(t, at, { suffix: '-a' })
  await t.cluster.compact()
  await at.attacher.gate.open()
  await attached(t, t.name('va-a'), { within: t.ours ? 15_000 : 60_000 })
})
