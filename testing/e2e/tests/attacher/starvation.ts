import { ok } from 'node:assert'
import type { TestContext } from '../../harness/context.ts'
import type { Call } from '../../harness/driver/driver.ts'
import { stop } from '../../harness/process/processes.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { type AttacherScene, attach, attachAndWait, attachFailed, publishes, scene, suffixes } from './scene.ts'

const test = testsOf('attacher', 'starvation')

const OURS = { only: 'ours', long: 'real' } as const

/** Ten workers take six seconds for all of them. */
const BAD = 60
const CALL_MS = 1000
/** Retries do not occur before the test is over. */
const ONCE = ['--retry-interval-start=10m', '--retry-interval-max=10m']

const badCalls = (at: Pick<AttacherScene, 'driver'>): readonly Call[] => publishes(at).filter(isBad)

function isBad({ request }: Pick<Call, 'request'>): boolean {
  return String(request['volume_id']).includes('-bad')
}

async function attachBad(t: TestContext, at: AttacherScene, count: number): Promise<readonly string[]> {
  const bad = suffixes(count).map((suffix) => `-bad${suffix}`)
  await Promise.all(bad.map((suffix) => attach(t, at, { suffix })))
  return bad
}

/** Attachments that have failed, all of them. */
async function failing(t: TestContext, args: readonly string[] = []): Promise<AttacherScene> {
  const at = await scene(t, { args: [...ONCE, ...args] })
  refuse(at)
  for (const suffix of await attachBad(t, at, BAD)) await attachFailed(t, '', t.name(`va${suffix}`))
  return at
}

function refuse({ driver }: Pick<AttacherScene, 'driver'>): void {
  driver.on('ControllerPublishVolume', (call) =>
    isBad(call) ? { code: 13, message: 'no such array', after: CALL_MS } : { reply: {} },
  )
}

/** The failing attachments are retried, for any cause; they do not delay a new one. */
async function newcomerGoesFirst(t: TestContext, at: AttacherScene, tried: number): Promise<void> {
  await eventually('another try', () => badCalls(at).length > tried, { within: 30_000 })
  const began = Date.now()
  await attachAndWait(t, at, { suffix: '-healthy' })
  const call = at.driver.callsOf('ControllerPublishVolume').find((each) => !isBad(each))
  const after = (call?.start ?? Number.POSITIVE_INFINITY) - began
  ok(after < 2500, `the healthy attach reached the driver after ${after} ms`)
  ok(badCalls(at).length < tried + BAD, 'the others were tried again before')
}

async function healthyWithin(t: TestContext, at: Pick<AttacherScene, 'driver' | 'node'>, ms: number): Promise<void> {
  const began = Date.now()
  await attachAndWait(t, at, { suffix: '-healthy' })
  const after = Date.now() - began
  ok(after < ms, `the healthy volume was attached after ${after} ms`)
}

test('calls that hang repeatedly leave workers to others', OURS, async (t) => {
  const at = await scene(t, { args: ['--timeout=5s', '--retry-interval-start=100ms', '--retry-interval-max=200ms'] })
  at.driver.on('ControllerPublishVolume', (call) => (isBad(call) ? 'hang' : { reply: {} }))
  await attachBad(t, at, 20)
  await eventually('second tries on all workers', () => badCalls(at).length >= 30, { within: 60_000 })
  await healthyWithin(t, at, 2500)
})

test('writes about failures leave --kube-api-qps to others', { ...OURS, within: 120_000 }, async (t) => {
  const rate = ['--kube-api-qps=5', '--kube-api-burst=10']
  const at = await scene(t, { args: ['--retry-interval-start=100ms', '--retry-interval-max=200ms', ...rate] })
  at.driver.on('ControllerPublishVolume', (call) => (isBad(call) ? { code: 13, message: 'no' } : { reply: {} }))
  await attachBad(t, at, 30)
  await eventually('retries', () => badCalls(at).length >= 60, { within: 60_000 })
  // Behind ten of the others with each of its three writes it would take six seconds.
  await healthyWithin(t, at, 3000)
})

test('--resync retries failed work after new work', OURS, async (t) => {
  const at = await failing(t, ['--resync=15s'])
  await newcomerGoesFirst(t, at, badCalls(at).length)
})

test('a driver that reconnects gets new work before retries', OURS, async (t) => {
  const at = await failing(t)
  const tried = badCalls(at).length
  at.driver.kill()
  await at.attacher.line('Lost connection')
  await at.driver.start()
  refuse(at)
  await newcomerGoesFirst(t, at, tried)
})

test('a new leader runs new work before the retries of the last leader', OURS, async (t) => {
  const at = await failing(t)
  const tried = badCalls(at).length
  await stop(at.attacher.process)
  await t.sidecar({ driver: at.driver, args: ONCE })
  await newcomerGoesFirst(t, at, tried)
})
