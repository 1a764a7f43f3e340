import { createConnection, createServer, type Socket } from 'node:net'
import { systemClock } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { silentLogger } from '@csi-sidecars/telemetry'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { afterEach, describe, expect, test } from '@jest/globals'
import { AddressError, connect, socketAddressOf } from './connect.ts'
import { whyUnreachable } from './errors/rpc-error.ts'
import { scriptedDriver, socketPath } from './testing/scripted-driver.ts'
import { pass, until } from './testing/turns.ts'

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})

async function driver(socket?: string) {
  const started = await scriptedDriver(socket === undefined ? {} : { socket })
  cleanups.push(started.stop)
  return started
}

test.each([
  ['/csi/csi.sock', 'unix:///csi/csi.sock'],
  ['unix:///csi/csi.sock', 'unix:///csi/csi.sock'],
  ['unix:////csi/csi.sock', 'unix:////csi/csi.sock'],
])('the driver address %s is printed as %s', (address, printed) => {
  expect(socketAddressOf(address)).toBe(printed)
})

test.each(['tcp://127.0.0.1:10000', '127.0.0.1:10000', 'csi.sock', 'unix:/csi/csi.sock', 'dns:///driver', ''])(
  '`connect` refuses the address "%s" at once',
  async (address) => {
    const refused = connect({ address, clock: systemClock, log: silentLogger })
    await expect(refused).rejects.toThrow(AddressError)
    await expect(refused).rejects.toThrow('OnConnectionLoss callback only supported for unix:// addresses')
  },
)

test.each(['', 'unix://', 'unix:///'])('`connect` accepts "%s" before the path of a socket', async (prefix) => {
  const { socket } = await driver()
  const connection = await connect({ address: prefix + socket, clock: systemClock, log: silentLogger })
  expect(connection.address).toBe(`unix://${prefix === 'unix:///' ? '/' : ''}${socket}`)
  expect(connection.lost.aborted).toBe(false)
  connection.close()
})

test('`connect` logs every ten seconds that the driver is not connected yet, and gives up after thirty seconds', async () => {
  const clock = new FakeClock()
  const log = recordingLogger()
  const address = socketPath()
  const failed = connect({ address, clock, log }).catch((error: unknown) => error)
  await pass(clock, 29_900)
  const lastError = 'connect: no such file or directory'
  const still = { level: 0, message: 'Still connecting', pairs: { address: `unix://${address}`, lastError } }
  expect(log.lines.filter(({ level }) => level === 0)).toEqual([still, still])
  await pass(clock, 100)
  expect(await failed).toMatchObject({ message: 'context deadline exceeded', pairs: { lastError } })
  expect(clock.pending).toBe(0)
})

describe('`whyUnreachable`', () => {
  const listening = async (): Promise<string> => {
    const path = socketPath()
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(path, resolve))
    cleanups.push(() => server.close())
    return path
  }

  test.each<[string, () => string | Promise<string>]>([
    ['connect: no such file or directory', socketPath],
    ['connect: not a directory', () => `${import.meta.filename}/csi.sock`],
    ['connect: connection refused', () => import.meta.filename],
    ['connected, but the other side does not speak gRPC', listening],
  ])('`whyUnreachable` explains a failed connection: %s', async (text, path) => {
    expect(await whyUnreachable(await path())).toBe(text)
  })
})

test('`connect` reaches a driver that starts late within about a second', async () => {
  const clock = new FakeClock()
  const socket = socketPath()
  const connecting = connect({ address: socket, clock, log: silentLogger })
  await pass(clock, 12_000)
  await driver(socket)
  await pass(clock, 1_100)
  const connection = await connecting
  connection.close()
  expect(clock.pending).toBe(0)
})

test('`connect` opens a new socket if the other side accepts the connection but sends nothing', async () => {
  const clock = new FakeClock()
  const socket = socketPath()
  const sockets: Socket[] = []
  const server = createServer((peer) => {
    peer.on('error', () => undefined).resume()
    sockets.push(peer)
  })
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  cleanups.push(() => server.close())
  const stop = new AbortController()
  const connecting = connect({ address: socket, clock, log: silentLogger, signal: stop.signal }).catch(
    (e: unknown) => e,
  )
  await until(() => sockets.length === 1, 'the first attempt arrives')
  await clock.advance(4_999)
  expect(sockets).toHaveLength(1)
  await clock.advance(1)
  await until(() => sockets[0]?.destroyed === true, 'the first attempt is thrown away')
  await pass(clock, 100)
  await until(() => sockets.length === 2, 'a second attempt arrives')
  const reason = new Error('enough')
  stop.abort(reason)
  expect(await connecting).toBe(reason)
  await until(() => sockets[1]?.destroyed === true, 'the second attempt is thrown away')
  expect(clock.pending).toBe(0)
})

test('an idle connection to the driver stays open', async () => {
  const clock = new FakeClock()
  const { socket } = await driver()
  const connection = await connect({ address: socket, clock, log: silentLogger })
  expect(clock.nextIn).toBeLessThan(2 ** 31 - 1)
  await clock.advance(40 * 24 * 3_600_000)
  expect(connection.lost.aborted).toBe(false)
  expect(clock.pending).toBe(1)
  connection.close()
  expect(clock.pending).toBe(0)
})

test('every connection to the driver has its own socket', async () => {
  const { socket } = await driver()
  const address = socketPath()
  let sockets = 0
  const proxy = createServer((near) => {
    sockets += 1
    near.pipe(createConnection(socket)).pipe(near)
  })
  await new Promise<void>((resolve) => proxy.listen(address, resolve))
  cleanups.push(() => proxy.close())
  const first = await connect({ address, clock: systemClock, log: silentLogger })
  const second = await connect({ address, clock: systemClock, log: silentLogger })
  expect(sockets).toBe(2)
  first.close()
  expect(second.lost.aborted).toBe(false)
  second.close()
})
