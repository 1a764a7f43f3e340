import { deepStrictEqual as equal, ok } from 'node:assert'
import type { TestContext } from '../../harness/context.ts'
import { requiredBytes } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import {
  ask,
  bound,
  conditionsOf,
  editClaim,
  expands,
  GI,
  grown,
  raised,
  resized,
  scene,
  sizesOf,
  statusWord,
  untilClaim,
  untilEvent,
} from './scene.ts'

const test = testsOf('resizer', 'resize again')

/**
 * Changes the claim for the originals. After a concurrent write, they can fail with conflicts until another client
 * changes the claim.
 */
async function nudge(t: TestContext): Promise<void> {
  if (t.ours) return
  await editClaim(t, { metadata: { labels: { nudged: String(Date.now()) } } })
}

test('backoff between the attempts of one size', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=500ms', '--retry-interval-max=2s'] })
  at.driver.on('ControllerExpandVolume', { code: 13, message: 'no' })
  await raised(t)
  await eventually('tries', () => expands(at).length >= 6)
  const starts = expands(at).map(({ start }) => start)
  const gaps = starts.slice(1).map((start, index) => start - (starts[index] ?? 0))
  const long = gaps.filter((gap) => gap > 300)
  ok(
    long.slice(0, 3).every((gap, index) => gap >= Math.min(500 * 2 ** index, 2000) * 0.9 || !t.ours),
    `gaps ${gaps}`,
  )
  if (t.ours)
    ok(
      gaps.every((gap, index) => gap >= Math.min(500 * 2 ** index, 2000) * 0.9),
      `gaps ${gaps}`,
    )
})

test('success after a failure clears the conditions', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=300ms'] })
  at.driver.on('ControllerExpandVolume', (_, nth) => (nth < 3 ? { code: 13, message: 'no' } : { reply: {} }))
  const { claim } = await grown(t)
  equal([conditionsOf(claim), statusWord(claim)], [[], undefined])
})

test('infeasible: retried once each --retry-interval-max', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=100ms', '--retry-interval-max=3s'] })
  at.driver.on('ControllerExpandVolume', { code: 3, message: 'no' })
  await raised(t)
  await eventually('a try', () => expands(at).length > 0)
  await pause(1500)
  const quick = expands(at).length
  ok(quick <= 2, `${quick} quick tries`)
  await eventually('another', () => expands(at).length > quick, { within: 4000 })
  await pause(2000)
  // The originals notice only at the next read that a claim belongs to the slow ones: up to three tries each time.
  ok(expands(at).length <= quick + (t.ours ? 1 : 3), `${expands(at).length} tries`)
})

test('infeasible, then a smaller request: attempted at once', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-max=5m'] })
  at.driver.on('ControllerExpandVolume', ({ request }) =>
    requiredBytes(request) > 2 * GI ? { code: 11, message: 'too big' } : { reply: {} },
  )
  await raised(t, { to: '5Gi' })
  await untilClaim(t, (each) => statusWord(each) === 'ControllerResizeInfeasible')
  await pause(1500)
  await ask(t, '2Gi')
  const claim = await resized(t, '2Gi')
  equal(claim.status?.allocatedResources, { storage: '2Gi' })
  equal([conditionsOf(claim), statusWord(claim)], [[], undefined])
})

test('a final error, then a smaller request: attempted at once', async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerExpandVolume', ({ request }) =>
    requiredBytes(request) > 2 * GI ? { code: 13, message: 'too big' } : { reply: {} },
  )
  await raised(t, { to: '5Gi' })
  await untilEvent(t, 'VolumeResizeFailed')
  await pause(500)
  await ask(t, '2Gi')
  await resized(t, '2Gi')
})

test('an error that is not final pins the size until it has ended', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=500ms', '--retry-interval-max=500ms'] })
  let busy = true
  at.driver.on('ControllerExpandVolume', () => (busy ? { code: 10, message: 'busy' } : { reply: {} }))
  await raised(t, { to: '5Gi' })
  await untilEvent(t, 'VolumeResizeFailed')
  await ask(t, '2Gi')
  await pause(1500)
  equal([...new Set(sizesOf(at))], [5])
  busy = false
  await nudge(t)
  const claim = await resized(t, '5Gi')
  equal(claim.spec?.resources?.requests?.['storage'], '2Gi')
})

test('an infeasible claim found at start is attempted once, then slowly', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=100ms', '--retry-interval-max=60s'] })
  at.driver.on('ControllerExpandVolume', { code: 3, message: 'no' })
  await raised(t)
  await untilClaim(t, (each) => statusWord(each) === 'ControllerResizeInfeasible')
  await pause(1000)
  await at.resizer.endBy('SIGKILL')
  const before = expands(at).length
  await t.sidecar({ driver: at.driver, args: ['--retry-interval-start=100ms', '--retry-interval-max=60s'] })
  await eventually('one try', () => expands(at).length > before)
  await pause(1500)
  ok(expands(at).length <= before + (t.ours ? 1 : 2), `${expands(at).length - before} tries`)
})

test('an unrelated change during the slow retries causes no call', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-max=5m'] })
  at.driver.on('ControllerExpandVolume', { code: 3, message: 'no' })
  await raised(t)
  await untilClaim(t, (each) => statusWord(each) === 'ControllerResizeInfeasible')
  await pause(1500)
  const before = expands(at).length
  await editClaim(t, { metadata: { labels: { a: 'b' } } })
  await never('a call', () => expands(at).length > before, 1500)
})

test('two changes that arrive together cause one call, and its failure waits', { only: 'ours' }, async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=2s'] })
  at.driver.on('ControllerExpandVolume', { code: 14, message: 'busy' })
  await bound(t)
  await pause(300)
  at.resizer.signal('SIGSTOP')
  await ask(t, '2Gi')
  await ask(t, '3Gi')
  await pause(300)
  at.resizer.signal('SIGCONT')
  await eventually('a call', () => expands(at).length > 0)
  await never('another call', () => expands(at).length > 1, 1500)
  equal(sizesOf(at), [3])
})
