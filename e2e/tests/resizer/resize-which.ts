import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import { ask, type BoundParts, bound, expands, GI, patchStatus, resized, scene } from './scene.ts'

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
    await bound(t, parts(t))
    await ask(t, '2Gi')
    await never('a write', () => at.resizer.gate.writes().length > 0, 1000)
    equal(expands(at), [])
  })
}

test('a claim that is not bound waits', async (t) => {
  const at = await scene(t)
  await bound(t)
  await ask(t, '2Gi').catch(() => undefined)
  await resized(t, '2Gi')
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
  first.resizer.signal('SIGKILL')
  await first.resizer.end()
  await bound(t)
  await ask(t, '2Gi')
  await t.sidecar({ driver: first.driver })
  await resized(t, '2Gi')
})

test('raised during the call: the first size is finished, the larger follows', async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerExpandVolume', ({ request }) => {
    const { required_bytes } = request['capacity_range'] as { required_bytes: string }
    return { reply: { capacityBytes: BigInt(required_bytes), nodeExpansionRequired: false }, after: 700 }
  })
  await bound(t)
  await ask(t, '2Gi')
  await eventually('a call', () => expands(at).length > 0)
  await ask(t, '3Gi')
  await resized(t, '3Gi')
  const asked = expands(at).map(
    ({ request }) => (request['capacity_range'] as { required_bytes: string }).required_bytes,
  )
  equal([...new Set(asked)], [String(2 * GI), String(3 * GI)])
  ok(
    expands(at).every(({ start }, index, all) => start >= (all[index - 1]?.end ?? 0)),
    'one at a time',
  )
})

test('ten claims run in parallel', async (t) => {
  const at = await scene(t, { args: ['--kube-api-qps=1000', '--kube-api-burst=1000'] })
  at.driver.on('ControllerExpandVolume', {
    reply: { capacityBytes: BigInt(2 * GI), nodeExpansionRequired: false },
    after: 1500,
  })
  const suffixes = Array.from({ length: 12 }, (_, index) => `-${index}`)
  for (const suffix of suffixes) await bound(t, { suffix })
  await Promise.all(suffixes.map((suffix) => ask(t, '2Gi', t.name(`pvc${suffix}`))))
  for (const suffix of suffixes) await resized(t, '2Gi', t.name(`pvc${suffix}`))
  const most = Math.max(
    ...expands(at).map(
      (each) => expands(at).filter(({ start, end = Infinity }) => start <= each.start && end > each.start).length,
    ),
  )
  equal(most, 10)
})

test('--workers=0: the process runs without work', async (t) => {
  const at = await scene(t, { args: ['--workers=0'] })
  await bound(t)
  await ask(t, '2Gi')
  await never('a call', () => expands(at).length > 0, 1500)
  equal(at.resizer.exit, undefined)
})

test('the claim is deleted during the call: no failure', async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerExpandVolume', {
    reply: { capacityBytes: BigInt(2 * GI), nodeExpansionRequired: false },
    after: 700,
  })
  const { pvc } = await bound(t)
  await ask(t, '2Gi')
  await eventually('a call', () => expands(at).length > 0)
  await t.api.delete(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: pvc })
  await bound(t, { suffix: '-b' })
  await ask(t, '2Gi', t.name('pvc-b'))
  await resized(t, '2Gi', t.name('pvc-b'))
  equal(at.resizer.exit, undefined)
})

test('a bound claim without a capacity counts as empty', { only: 'ours' }, async (t) => {
  const at = await scene(t)
  const { pvc } = await bound(t, { size: '2Gi', volumeSize: '1Gi' })
  await patchStatus(t, pvc, { status: { capacity: null } })
  await ask(t, '3Gi')
  await resized(t, '3Gi')
  equal(at.resizer.exit, undefined)
})

test('--worker-threads is accepted here too', { only: 'ours' }, async (t) => {
  await scene(t, { args: ['--worker-threads=3'] })
  await bound(t)
  await ask(t, '2Gi')
  await resized(t, '2Gi')
})
