import { FakeClock } from '@csi-sidecars/base/testing'
import { CODES, RpcError } from '@csi-sidecars/csi'
import { Metrics } from '@csi-sidecars/telemetry'
import { expect, test } from '@jest/globals'
import { ScriptedDriver } from '../testing/scripted.ts'
import { DriverAnswers } from './answers.ts'

const SILENT = (seconds: number): string => `CSI driver csi.example.com has not answered for ${seconds} s`

/** Starts the check of a driver that answers each Probe with `reply`. */
function started(reply: (clock: FakeClock) => Promise<boolean>) {
  const clock = new FakeClock()
  const driver = new ScriptedDriver()
  const metrics = new Metrics()
  const probes: number[] = []
  const probe = async (): Promise<boolean> => {
    probes.push(clock.monotonic())
    return await reply(clock)
  }
  const answers = new DriverAnswers({ driver, clock, metrics, probe })
  /** Returns why the driver is not ready `ms` milliseconds after the start. */
  const at = async (ms: number): Promise<string | undefined> => {
    await clock.advance(ms - clock.monotonic())
    const reason = answers.whyNotReady()
    await clock.advance(500)
    return await reason
  }
  return { clock, driver, metrics, probes, answers, at }
}

const ANSWERS = async (): Promise<boolean> => true
/** A driver that is stopped: each Probe ends with its time-out. */
const HANGS = (clock: FakeClock): Promise<boolean> =>
  clock.sleep(5_000).then(() => Promise.reject(new Error('context deadline exceeded')))

test('`/readyz` does not probe a driver that has just answered the handshake', async () => {
  const { at, probes } = started(HANGS)
  expect([await at(0), await at(9_000)]).toEqual([undefined, undefined])
  expect(probes).toEqual([])
})

test('fifty requests for /readyz a second cause only one Probe call in ten seconds', async () => {
  const { clock, answers, probes } = started(ANSWERS)
  for (let ms = 0; ms < 40_000; ms += 20) {
    expect(await answers.whyNotReady()).toBeUndefined()
    await clock.advance(20)
  }
  expect(probes).toEqual([10_000, 20_000, 30_000])
  expect(clock.pending).toBe(0)
})

test('a driver is not ready once its last answer is too old, or a Probe has failed', async () => {
  const { at, probes } = started(HANGS)
  expect(await at(10_000)).toBeUndefined()
  expect(await at(14_000)).toBeUndefined()
  expect(await at(15_100)).toBe(SILENT(15))
  expect(await at(19_000)).toBe(SILENT(19))
  expect(probes).toEqual([10_000])
})

test('/readyz waits at most half a second for a Probe, and uses the late answer for the next request', async () => {
  const slow = (clock: FakeClock): Promise<boolean> => clock.sleep(2_000).then(() => true)
  const { at, probes } = started(slow)
  expect(await at(30_000)).toBe(SILENT(31))
  expect(await at(32_500)).toBeUndefined()
  expect(probes).toEqual([30_000])
})

test('a silent driver becomes ready with the first Probe that it answers', async () => {
  let reply = HANGS
  const { at } = started((clock) => reply(clock))
  expect(await at(20_000)).toBe(SILENT(21))
  reply = ANSWERS
  expect(await at(29_000)).toBe(SILENT(29))
  expect(await at(30_000)).toBeUndefined()
})

test('a driver that answers `not ready` is not ready', async () => {
  const { at } = started(async () => false)
  expect(await at(10_000)).toBe('CSI driver csi.example.com answers that it is not ready')
})

test.each([
  ['driver', undefined],
  ['none', SILENT(10)],
  ['client', SILENT(10)],
] as const)('if a Probe fails with an error of origin %s, /readyz reports: %s', async (origin, reason) => {
  const { at } = started(() => Promise.reject(new RpcError(CODES.Unimplemented, 'x', { origin })))
  expect(await at(10_000)).toBe(reason)
})

test('the handshake on a new connection to the driver counts as an answer of the driver', async () => {
  const { at, driver } = started(HANGS)
  expect(await at(20_000)).toBe(SILENT(21))
  driver.become({ type: 'ready', lostForMs: 1 })
  expect(await at(21_000)).toBeUndefined()
})

test('metrics show the age of the last answer of the driver once a client has requested /readyz', async () => {
  const { at, metrics } = started(ANSWERS)
  expect(await metrics.text()).toBe('')
  await at(4_500)
  expect(await metrics.text()).toContain('csi_sidecar_driver_answer_age_seconds{driver_name="csi.example.com"} 5\n')
})
