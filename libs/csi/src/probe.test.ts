import { FakeClock } from '@csi-sidecars/base/testing'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { expect, test } from '@jest/globals'
import { CODES, deadlineExceeded, RpcError } from './errors/rpc-error.ts'
import { probe } from './probe.ts'
import { FakeConnection } from './testing/fake-connection.ts'

const PROBING = 'Probing CSI driver for readiness'

function probing(...replies: ((clock: FakeClock) => unknown)[]) {
  const clock = new FakeClock()
  const log = recordingLogger()
  const stop = new AbortController()
  const limits: number[] = []
  const connection = new FakeConnection({
    Probe: (options) => {
      limits.push(options.timeoutMs)
      return replies.shift()?.(clock)
    },
  })
  const outcome = probe(connection, { timeoutMs: 15_000, clock, log, signal: stop.signal }).then(
    () => 'ready',
    (error: unknown) => error,
  )
  const lines = () => log.lines.map(({ level, message }) => (level === 0 ? message : `${level}: ${message}`))
  return { clock, stop, outcome, limits, lines, connection }
}

test.each([[{ ready: true }], [{ ready: undefined }], [{}]])('a driver is ready if Probe returns %j', async (reply) => {
  const { outcome, limits, lines, clock } = probing(() => reply)
  expect(await outcome).toBe('ready')
  expect(limits).toEqual([15_000])
  expect(lines()).toEqual([PROBING])
  expect(clock.pending).toBe(0)
})

test('`probe` repeats the call once a second until the driver is ready, even if the answers are slow', async () => {
  const slow = (clock: FakeClock) => clock.sleep(300).then(() => ({ ready: false }))
  const { clock, outcome, lines, connection } = probing(slow, slow, () => ({ ready: true }))
  await clock.advance(999)
  expect(connection.calls).toHaveLength(1)
  await clock.advance(1)
  expect(connection.calls).toHaveLength(2)
  await clock.advance(1_000)
  expect(await outcome).toBe('ready')
  expect(lines()).toEqual([PROBING, 'CSI driver is not ready', PROBING, 'CSI driver is not ready', PROBING])
})

test('`probe` asks the driver again at once after a time-out', async () => {
  const slow = (clock: FakeClock) => clock.sleep(15_000).then(() => Promise.reject(deadlineExceeded()))
  const { clock, outcome, lines } = probing(slow, () => ({}))
  await clock.advance(15_000)
  expect(await outcome).toBe('ready')
  expect(lines()).toEqual([PROBING, 'CSI driver probe timed out', PROBING])
})

test('`probe` throws any error except a time-out', async () => {
  const { outcome } = probing(() => Promise.reject(new RpcError(CODES.Unimplemented, 'unknown service')))
  expect(await outcome).toEqual(
    new Error('CSI driver probe failed: rpc error: code = Unimplemented desc = unknown service'),
  )
})

test('`probe` rejects with the reason of an aborted signal', async () => {
  const { clock, stop, outcome } = probing(() => ({ ready: false }))
  await clock.settle()
  const reason = new Error('stop')
  stop.abort(reason)
  expect(await outcome).toBe(reason)
  expect(clock.pending).toBe(0)
})
