import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import { ask, type BoundParts, bound, expands, grown, patchStatus, raised, resized, scene, sizesOf } from './scene.ts'

const test = testsOf('resizer', 'resize')

test('a request that fits needs nothing', async (t) => {
  const at = await scene(t)
  await bound(t)
  await never('a write', () => at.resizer.gate.writes().length > 0, 800)
  equal(expands(at), [])
})

const NOT_OURS: readonly (readonly [what: string, parts: (t: TestContext) => BoundParts])[] = [
  ['a volume of another driver', () => ({ pv: { csi: { driver: 'other.example.com' } } })],
  ['a volume that is not CSI', () => ({ pv: { csi: null, hostPath: { path: '/x' } } })],
  [
    'a volume bound to another claim',
    (t) => ({ pv: { claimRef: { namespace: 'default', name: t.name('pvc'), uid: 'another' } } }),
  ],
  [
    'a claim whose resizer annotation names us, while the volume is another’s',
    (t) => ({
      claim: { metadata: { annotations: { 'volume.kubernetes.io/storage-resizer': t.driverName } } },
      pv: { csi: { driver: 'other.example.com' } },
    }),
  ],
]

for (const [what, parts] of NOT_OURS) {
  test(`${what} is left alone`, async (t) => {
    const at = await scene(t)
    await raised(t, parts(t))
    await never('a write', () => at.resizer.gate.writes().length > 0, 1000)
    equal(expands(at), [])
  })
}

test('a claim that is not bound waits', async (t) => {
  const at = await scene(t)
  await grown(t)
  const before = expands(at).length
  await patchStatus(t, t.name('pvc'), { status: { phase: 'Lost', capacity: { storage: '1Gi' } } })
  await never('a call', () => expands(at).length > before, 800)
})

test('the volume is missing: an error line, retried with backoff', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=300ms'] })
  const { pv } = await bound(t)
  await t.api.delete(PERSISTENT_VOLUMES, { name: pv })
  await t.api.untilGone(PERSISTENT_VOLUMES, { name: pv })
  await pause(300)
  await ask(t, '2Gi')
  const text = `"Error syncing PVC" err="PV \\"${pv}\\" bound to pvc \\"default/${t.name('pvc')}\\" not found"`
  ok((await at.resizer.line(text)).startsWith('E'))
  await eventually('retries', () => at.resizer.linesWith(text).length >= 3)
})

test('a raised request found at start is expanded', async (t) => {
  const first = await scene(t)
  await first.resizer.endBy('SIGKILL')
  await raised(t)
  await t.sidecar({ driver: first.driver })
  await resized(t, '2Gi')
})

test('raised during the call: the first size is finished, the larger follows', async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerExpandVolume', { reply: {}, after: 700 })
  await raised(t)
  await eventually('a call', () => expands(at).length > 0)
  await ask(t, '3Gi')
  await resized(t, '3Gi')
  equal([...new Set(sizesOf(at))], [2, 3])
  ok(
    expands(at).every(({ start }, index, all) => start >= (all[index - 1]?.end ?? 0)),
    'one at a time',
  )
})

test('ten claims run in parallel', async (t) => {
  const at = await scene(t, { args: ['--kube-api-qps=1000', '--kube-api-burst=1000'] })
  at.driver.on('ControllerExpandVolume', { reply: {}, after: 1500 })
  const pvcs: string[] = []
  for (let nth = 0; nth < 12; nth += 1) pvcs.push((await bound(t, { suffix: `-${nth}` })).pvc)
  await Promise.all(pvcs.map((pvc) => ask(t, '2Gi', pvc)))
  for (const pvc of pvcs) await resized(t, '2Gi', pvc)
  const runningAt = (time: number): number =>
    expands(at).filter(({ start, end = Infinity }) => start <= time && end > time).length
  equal(Math.max(...expands(at).map(({ start }) => runningAt(start))), 10)
})

test('--workers=0: the process runs without work', async (t) => {
  const at = await scene(t, { args: ['--workers=0'] })
  await raised(t)
  await never('a call', () => expands(at).length > 0, 1500)
  equal(at.resizer.exit, undefined)
})

test('the claim is deleted during the call: no failure', async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerExpandVolume', { reply: {}, after: 700 })
  const { pvc } = await raised(t)
  await eventually('a call', () => expands(at).length > 0)
  await t.api.delete(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: pvc })
  await grown(t, { suffix: '-b' })
  equal(at.resizer.exit, undefined)
})

test('--worker-threads is accepted here too', { only: 'ours' }, async (t) => {
  await scene(t, { args: ['--worker-threads=3'] })
  await grown(t)
})
