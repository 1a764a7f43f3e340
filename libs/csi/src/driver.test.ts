import { CancelledError, onPhase, type RunPhase } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  ControllerUnpublishVolume,
  NodeServiceCapability_RPC_Type as NodeRpc,
  PluginCapability_Service_Type as PluginService,
} from '@csi-sidecars/csi-proto'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { expect, test } from '@jest/globals'
import type { Connection } from './connection.ts'
import { createDriver, type DriverEvent, driverWhileLeading } from './driver.ts'
import { CODES, RpcError } from './errors/rpc-error.ts'
import type { DriverIdentity } from './probe.ts'
import { FakeConnection } from './testing/fake-connection.ts'

const UNPUBLISH = { volumeId: 'v', nodeId: 'n', secrets: {} }
const limits = { timeoutMs: 1_000 }
const { PUBLISH_UNPUBLISH_VOLUME, PUBLISH_READONLY } = ControllerRpc

function identity(name: string, ...controller: ControllerRpc[]): DriverIdentity {
  const services = new Set([PluginService.CONTROLLER_SERVICE])
  const plugin = { services, volumeExpansion: new Set<never>() }
  return { name, capabilities: { plugin, controllerService: true, controller: new Set(controller) } }
}
const REPLY = identity('csi.example.com', PUBLISH_UNPUBLISH_VOLUME)

/** Creates a driver with scripted reconnects. The test decides which connections and identities come next. */
function watched() {
  const clock = new FakeClock()
  const log = recordingLogger()
  const first = new FakeConnection()
  const waiting: ((connection: Connection) => void)[] = []
  const identified: Connection[] = []
  let identify: (signal: AbortSignal) => Promise<DriverIdentity> = () => Promise.resolve(REPLY)
  const events: DriverEvent[] = []
  const driver = createDriver({
    clock,
    log,
    connection: first,
    identity: REPLY,
    decisiveCapabilities: { controller: [PUBLISH_UNPUBLISH_VOLUME], node: [NodeRpc.EXPAND_VOLUME] },
    reconnect: (signal) =>
      new Promise((resolve, reject) => {
        waiting.push(resolve)
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      }),
    identify: (connection, signal) => {
      identified.push(connection)
      return identify(signal)
    },
  })
  driver.subscribe((event) => events.push(event))
  const comeBack = async (): Promise<FakeConnection> => {
    const connection = new FakeConnection()
    waiting.shift()?.(connection)
    await clock.settle()
    return connection
  }
  const answer = (next: typeof identify): void => {
    identify = next
  }
  return { clock, log, first, driver, events, identified, waiting, comeBack, answer }
}

const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'no failure',
    (error: unknown) => error,
  )

test('calls use the connection to the driver while its state is `ready`', async () => {
  const { driver, first } = watched()
  await driver.call(ControllerUnpublishVolume, UNPUBLISH, limits)
  expect(first.calls).toEqual(['ControllerUnpublishVolume'])
  expect({ name: driver.name, state: driver.state, lostForMs: driver.lostForMs }).toEqual({
    name: 'csi.example.com',
    state: 'ready',
    lostForMs: 0,
  })
})

test('a lost connection is reported at once, and calls fail as Unavailable without reaching a driver', async () => {
  const { driver, first, events, clock } = watched()
  first.lose()
  expect(events).toEqual([{ type: 'lost' }])
  expect(driver.state).toBe('lost')
  expect(await failureOf(driver.call(ControllerUnpublishVolume, UNPUBLISH, limits))).toMatchObject({
    message: 'rpc error: code = Unavailable desc = connection to the CSI driver lost',
  })
  expect(first.calls).toEqual([])
  expect(first.closed).toBe(true)
  await clock.advance(31_000)
  expect(driver.lostForMs).toBe(31_000)
})

test('after a lost connection, calls fail until the driver has sent its name and capabilities again', async () => {
  const { driver, first, events, clock, comeBack, answer, identified } = watched()
  const more = identity('csi.example.com', PUBLISH_UNPUBLISH_VOLUME, PUBLISH_READONLY)
  answer(() => clock.sleep(500).then(() => more))
  first.lose()
  await clock.advance(3_000)
  const second = await comeBack()
  expect(identified).toEqual([second])
  expect(driver.state).toBe('lost')
  expect(await failureOf(driver.call(ControllerUnpublishVolume, UNPUBLISH, limits))).toBeInstanceOf(RpcError)
  await clock.advance(500)
  expect(events).toEqual([{ type: 'lost' }, { type: 'ready', lostForMs: 3_500 }])
  expect(driver.capabilities).toBe(more.capabilities)
  await driver.call(ControllerUnpublishVolume, UNPUBLISH, limits)
  expect([first.calls, second.calls]).toEqual([[], ['ControllerUnpublishVolume']])
  expect({ lostForMs: driver.lostForMs, timers: clock.pending }).toEqual({ lostForMs: 0, timers: 0 })
})

test('a driver becomes ready again after each lost connection', async () => {
  const { first, events, comeBack, clock } = watched()
  let connection = first
  for (let times = 0; times < 3; times += 1) {
    connection.lose()
    connection = await comeBack()
    await clock.advance(10_000)
  }
  expect(events.map(({ type }) => type)).toEqual(['lost', 'ready', 'lost', 'ready', 'lost', 'ready'])
})

test('the process reconnects after growing pauses if each new connection to the driver breaks', async () => {
  const { first, events, comeBack, clock, driver } = watched()
  first.lose()
  let connection = await comeBack()
  for (const pauseMs of [100, 200, 400, 800, 1000, 1000]) {
    connection.lose()
    await clock.advance(pauseMs - 1)
    expect(driver.state).toBe('lost')
    await clock.advance(1)
    connection = await comeBack()
    expect(events.at(-1)).toEqual({ type: 'ready', lostForMs: pauseMs })
  }
})

test('the process reconnects after growing pauses, up to a second, if the driver cannot be identified', async () => {
  const { driver, first, clock, waiting, comeBack, answer, identified } = watched()
  answer(() => Promise.reject(new RpcError(CODES.FailedPrecondition, 'warming up')))
  first.lose()
  for (const pause of [100, 200, 400, 800, 1_000, 1_000]) {
    const connection = await comeBack()
    expect(connection.closed).toBe(true)
    await clock.advance(pause - 1)
    expect(waiting).toEqual([])
    await clock.advance(1)
    expect(waiting).toHaveLength(1)
  }
  expect(identified).toHaveLength(6)
  answer(() => Promise.resolve(REPLY))
  await comeBack()
  expect(driver.state).toBe('ready')
})

test('the process reconnects if the connection is lost while the driver is being identified', async () => {
  const { driver, first, clock, comeBack, answer, waiting } = watched()
  answer((signal) => clock.sleep(60_000, signal).then(() => REPLY))
  first.lose()
  const second = await comeBack()
  second.lose()
  await clock.advance(100)
  expect(waiting).toHaveLength(1)
  answer(() => Promise.resolve(REPLY))
  const third = await comeBack()
  expect(driver.state).toBe('ready')
  await driver.call(ControllerUnpublishVolume, UNPUBLISH, limits)
  expect(third.calls).toEqual(['ControllerUnpublishVolume'])
})

test.each([
  [
    'another name',
    identity('other.example.com', PUBLISH_UNPUBLISH_VOLUME),
    'CSI driver csi.example.com came back under another name: other.example.com',
  ],
  [
    'a missing decisive capability',
    identity('csi.example.com'),
    'CSI driver csi.example.com came back without the controller capability PUBLISH_UNPUBLISH_VOLUME',
  ],
  [
    'a new decisive capability',
    {
      ...REPLY,
      capabilities: { ...REPLY.capabilities, node: new Set([NodeRpc.EXPAND_VOLUME]) },
    },
    'CSI driver csi.example.com came back with the node capability EXPAND_VOLUME, which it did not have',
  ],
])('a driver that comes back with %s ends in the state `failed`', async (_, after, message) => {
  const { driver, first, clock, events, comeBack, answer } = watched()
  answer(() => Promise.resolve(after))
  first.lose()
  const second = await comeBack()
  expect(await driver.failure).toEqual(new Error(message))
  expect(events).toEqual([{ type: 'lost' }, { type: 'failed', error: new Error(message) }])
  expect(driver.state).toBe('failed')
  expect(second.closed).toBe(true)
  expect(await failureOf(driver.call(ControllerUnpublishVolume, UNPUBLISH, limits))).toMatchObject({
    codeName: 'Unavailable',
    details: message,
  })
  expect(clock.pending).toBe(0)
})

test('after a reconnect, a driver becomes ready even if an optional capability has changed', async () => {
  const { driver, first, comeBack, answer } = watched()
  answer(() => Promise.resolve(identity('csi.example.com', PUBLISH_UNPUBLISH_VOLUME, PUBLISH_READONLY)))
  first.lose()
  await comeBack()
  expect(driver.capabilities.controller.has(PUBLISH_READONLY)).toBe(true)
})

test('a driver starts in the state `lost` if its connection is already lost', async () => {
  const clock = new FakeClock()
  const connection = new FakeConnection()
  connection.lose()
  const driver = createDriver({
    clock,
    log: recordingLogger(),
    connection,
    identity: REPLY,
    reconnect: () => Promise.resolve(new FakeConnection()),
    identify: () => Promise.resolve(REPLY),
  })
  expect(driver.state).toBe('lost')
  await clock.settle()
  expect(driver.state).toBe('ready')
})

test.each(['ready', 'lost'])('a closed driver reports no lost connection (state before: `%s`)', async (state) => {
  const { driver, first, events, clock, log } = watched()
  if (state === 'lost') first.lose()
  driver.close()
  driver.close()
  await clock.settle()
  first.lose()
  expect(first.closed).toBe(true)
  expect(driver.state).toBe('closed')
  expect(events).toEqual(state === 'lost' ? [{ type: 'lost' }] : [])
  expect(log.lines.filter(({ level }) => level === 'error')).toEqual([])
  expect(await failureOf(driver.call(ControllerUnpublishVolume, UNPUBLISH, limits))).toMatchObject({
    message: 'rpc error: code = Unavailable desc = connection closed',
  })
})

test('a connection to the driver that is established after `close` is closed', async () => {
  const { driver, first, clock, comeBack, answer } = watched()
  answer((signal) => clock.sleep(1_000, signal).then(() => REPLY))
  first.lose()
  const second = await comeBack()
  driver.close()
  await clock.settle()
  expect(second.closed).toBe(true)
  expect({ state: driver.state, timers: clock.pending }).toEqual({ state: 'closed', timers: 0 })
})

test('if one driver listener throws, the other listeners still get the event', async () => {
  const { driver, first, events, log } = watched()
  const broken = new Error('listener')
  driver.subscribe(() => {
    throw broken
  })
  const late: string[] = []
  const unsubscribe = driver.subscribe(({ type }) => late.push(type))
  first.lose()
  unsubscribe()
  expect(events).toEqual([{ type: 'lost' }])
  expect(late).toEqual(['lost'])
  expect(log.lines.map(({ message, error }) => [message, error])).toEqual([
    ['Listener of CSI driver events failed', broken],
  ])
})

test('the driver gets no call through `driverWhileLeading` if the guard throws', async () => {
  const { driver, first } = watched()
  const refusal = new CancelledError('the lease is not held')
  let isHeld = true
  const wrapped = driverWhileLeading(driver, () => {
    if (!isHeld) throw refusal
  })
  await wrapped.call(ControllerUnpublishVolume, UNPUBLISH, limits)
  isHeld = false
  expect(await failureOf(wrapped.call(ControllerUnpublishVolume, UNPUBLISH, limits))).toBe(refusal)
  expect(first.calls).toEqual(['ControllerUnpublishVolume'])
  expect([wrapped.name, wrapped.state, wrapped.lostForMs]).toEqual(['csi.example.com', 'ready', 0])
})

test('a run has the phase `calling` during a call through `driverWhileLeading`', async () => {
  const { driver } = watched()
  const { signal } = new AbortController()
  const phases: RunPhase[] = []
  onPhase(signal, (phase) => phases.push(phase))
  await driverWhileLeading(driver, () => undefined).call(ControllerUnpublishVolume, UNPUBLISH, { ...limits, signal })
  expect(phases).toEqual(['calling', 'deciding'])
})
