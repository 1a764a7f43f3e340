import { ok } from 'node:assert'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import type { SidecarSetup, TestContext } from '../../harness/context.ts'
import type { Call, Driver } from '../../harness/driver/driver.ts'
import { stop } from '../../harness/process/processes.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { attachFailed, suffixes } from '../attacher/scene.ts'
import { conditionsOf, untilClaim } from '../resizer/scene.ts'
import { begin, scene, type WorkScene, work } from '../work.ts'

const OURS = { only: 'ours', long: 'real' } as const

/** Ten workers take six seconds for all of them. */
const BAD = 60
const CALL_MS = 1000
/** Retries do not occur before the test is over. */
const ONCE = ['--retry-interval-start=10m', '--retry-interval-max=10m']
const QUICK = ['--retry-interval-start=100ms', '--retry-interval-max=200ms']
const HEALTHY = { suffix: '-healthy' }

type Beside = Pick<WorkScene, 'driver'>

function isBad({ request }: Pick<Call, 'request'>): boolean {
  return String(request['volume_id']).includes('-bad')
}

const callsOf = (t: TestContext, { driver }: Beside): readonly Call[] => driver.callsOf(FACTS[t.app].call)
const badCalls = (t: TestContext, at: Beside): readonly Call[] => callsOf(t, at).filter(isBad)

async function beginBad(t: TestContext, count: number): Promise<readonly string[]> {
  const bad = suffixes(count).map((suffix) => `-bad${suffix}`)
  await Promise.all(bad.map((suffix) => begin(t, { suffix })))
  return bad
}

function refuse(t: TestContext, driver: Driver): void {
  driver.on(FACTS[t.app].call, (call) =>
    isBad(call) ? { code: 13, message: 'no such array', after: CALL_MS } : { reply: {} },
  )
}

/** Work that has failed, all of it. */
async function failing(t: TestContext, setup: SidecarSetup = {}): Promise<WorkScene> {
  const at = await scene(t, { args: [...ONCE, ...(setup.args ?? [])] })
  refuse(t, at.driver)
  for (const suffix of await beginBad(t, BAD)) {
    if (t.app === 'attacher') await attachFailed(t, '', t.name(`va${suffix}`))
    else
      await untilClaim(t, (claim) => conditionsOf(claim).includes('ControllerResizeError=True'), t.name(`pvc${suffix}`))
  }
  return at
}

/** The failing work is retried, for any cause; it does not delay new work. */
async function newcomerGoesFirst(t: TestContext, at: Beside, tried: number): Promise<void> {
  await eventually('another try', () => badCalls(t, at).length > tried, { within: 30_000 })
  const began = Date.now()
  await work(t, HEALTHY)
  const call = callsOf(t, at).find((each) => !isBad(each))
  const after = (call?.start ?? Number.POSITIVE_INFINITY) - began
  ok(after < 2500, `the healthy volume reached the driver after ${after} ms`)
  ok(badCalls(t, at).length < tried + BAD, 'the others were tried again before')
}

async function healthyWithin(t: TestContext, ms: number): Promise<void> {
  const began = Date.now()
  await work(t, HEALTHY)
  const after = Date.now() - began
  ok(after < ms, `the healthy volume was done after ${after} ms`)
}

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'starvation', OURS)

  test('calls that hang repeatedly leave workers to others', async (t) => {
    const at = await scene(t, { args: ['--timeout=5s', ...QUICK] })
    at.driver.on(FACTS[app].call, (call) => (isBad(call) ? 'hang' : { reply: {} }))
    await beginBad(t, 20)
    await eventually('second tries on all workers', () => badCalls(t, at).length >= 30, { within: 60_000 })
    await healthyWithin(t, 2500)
  })

  test('a new leader runs new work before the retries of the last leader', async (t) => {
    const at = await failing(t)
    const tried = badCalls(t, at).length
    await stop(at.sidecar.process)
    await t.sidecar({ driver: at.driver, args: ONCE })
    await newcomerGoesFirst(t, at, tried)
  })
}

const attacher = testsOf('attacher', 'starvation', OURS)

attacher('writes about failures leave --kube-api-qps to others', { within: 120_000 }, async (t) => {
  const at = await scene(t, { args: [...QUICK, '--kube-api-qps=5', '--kube-api-burst=10'] })
  at.driver.on('ControllerPublishVolume', (call) => (isBad(call) ? { code: 13, message: 'no' } : { reply: {} }))
  await beginBad(t, 30)
  await eventually('retries', () => badCalls(t, at).length >= 60, { within: 60_000 })
  // Behind ten of the others with each of its three writes it would take six seconds.
  await healthyWithin(t, 3000)
})

attacher('--resync retries failed work after new work', async (t) => {
  const at = await failing(t, { args: ['--resync=15s'] })
  await newcomerGoesFirst(t, at, badCalls(t, at).length)
})

attacher('a driver that reconnects gets new work before retries', async (t) => {
  const at = await failing(t)
  const tried = badCalls(t, at).length
  at.driver.kill()
  await at.sidecar.line('Lost connection')
  await at.driver.start()
  refuse(t, at.driver)
  await newcomerGoesFirst(t, at, tried)
})
