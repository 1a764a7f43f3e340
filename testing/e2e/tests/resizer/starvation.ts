import { ok } from 'node:assert'
import type { PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import type { Call } from '../../harness/driver/driver.ts'
import { stop } from '../../harness/process/processes.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import {
  ask,
  type Bound,
  bound,
  conditionsOf,
  expands,
  type ResizerScene,
  resized,
  scene,
  untilClaim,
} from './scene.ts'

const test = testsOf('resizer', 'starvation')

const OURS = { only: 'ours', long: 'real' } as const

function isBad({ request }: Pick<Call, 'request'>): boolean {
  return String(request['volume_id']).includes('-bad')
}

const badCalls = (at: ResizerScene): readonly Call[] => expands(at).filter(isBad)

/** One healthy claim, and many others with a larger request. */
async function healthyBeside(t: TestContext, bad: number): Promise<Bound> {
  const others = await Promise.all(Array.from({ length: bad }, (_, index) => bound(t, { suffix: `-bad-${index}` })))
  const healthy = await bound(t, { suffix: '-healthy' })
  await Promise.all(others.map(({ pvc }) => ask(t, '2Gi', pvc)))
  return healthy
}

async function growsWithin(t: TestContext, { pvc }: Bound, ms: number): Promise<void> {
  const began = Date.now()
  await ask(t, '2Gi', pvc)
  await resized(t, '2Gi', pvc)
  const after = Date.now() - began
  ok(after < ms, `the healthy claim had its size after ${after} ms`)
}

test('calls that hang repeatedly leave workers to others', OURS, async (t) => {
  const at = await scene(t, { args: ['--timeout=5s', '--retry-interval-start=100ms', '--retry-interval-max=200ms'] })
  at.driver.on('ControllerExpandVolume', (call) => (isBad(call) ? 'hang' : { reply: {} }))
  const healthy = await healthyBeside(t, 20)
  await eventually('second tries on all workers', () => badCalls(at).length >= 30, { within: 60_000 })
  await growsWithin(t, healthy, 2500)
})

test('a new leader runs new work before the retries of the last leader', OURS, async (t) => {
  const args = ['--retry-interval-start=10m', '--retry-interval-max=10m']
  const bad = 60
  const at = await scene(t, { args })
  at.driver.on('ControllerExpandVolume', (call) =>
    isBad(call) ? { code: 13, message: 'no such array', after: 1000 } : { reply: {} },
  )
  const healthy = await healthyBeside(t, bad)
  const failed = (claim: PersistentVolumeClaim): boolean => conditionsOf(claim).includes('ControllerResizeError=True')
  for (let index = 0; index < bad; index += 1) await untilClaim(t, failed, t.name(`pvc-bad-${index}`))
  const tried = badCalls(at).length
  await stop(at.resizer.process)
  await t.sidecar({ driver: at.driver, args })
  await eventually('another try', () => badCalls(at).length > tried)
  await growsWithin(t, healthy, 2500)
  ok(badCalls(at).length < tried + bad, 'the others were tried again before')
})
