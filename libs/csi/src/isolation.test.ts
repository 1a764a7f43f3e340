import { FakeClock } from '@csi-sidecars/base/testing'
import { ControllerUnpublishVolume } from '@csi-sidecars/csi-proto'
import { expect, test } from '@jest/globals'
import { CODES, RpcError } from './errors/rpc-error.ts'
import { Isolation } from './isolation.ts'
import { FakeConnection, type Reply } from './testing/fake-connection.ts'

const UNPUBLISH = 'ControllerUnpublishVolume'
const request = (volumeId: string) => ({ volumeId, nodeId: 'n', secrets: {} })
const broken = new RpcError(CODES.Unavailable, 'the connection broke', { origin: 'session' })
const refused = new RpcError(CODES.NotFound, 'no')
const fail =
  (error: Error): Reply =>
  () => {
    throw error
  }

/** A driver whose shared connection answers like this, and connections of one call like that. */
function isolated(shared: Reply, own: Reply) {
  const clock = new FakeClock()
  const opened: FakeConnection[] = []
  const open = async (): Promise<FakeConnection> => {
    const connection = new FakeConnection({ [UNPUBLISH]: own })
    opened.push(connection)
    return connection
  }
  const isolation = new Isolation({ clock, open })
  const connection = new FakeConnection({ [UNPUBLISH]: shared })
  const call = (volumeId: string, options = {}) =>
    isolation.call(connection, {
      method: ControllerUnpublishVolume,
      request: request(volumeId),
      options: { timeoutMs: 1_000, ...options },
    })
  return { clock, call, opened, connection, isolation }
}

test('a call that was running when the connection broke is repeated on its own connection, until it is answered', async () => {
  const { call, opened, connection } = isolated(fail(broken), () => ({}))
  await expect(call('a')).rejects.toBe(broken)
  expect(await call('a')).toEqual({})
  expect([connection.calls.length, opened.map(({ calls, closed }) => [calls.length, closed])]).toEqual([1, [[1, true]]])
  await expect(call('a')).rejects.toBe(broken)
  expect(connection.calls).toHaveLength(2)
})

test('other calls share the connection', async () => {
  const { call, opened, connection } = isolated(fail(broken), () => ({}))
  await expect(call('a')).rejects.toBe(broken)
  await expect(call('b')).rejects.toBe(broken)
  expect([connection.calls.length, opened.length]).toEqual([2, 0])
})

test('one that breaks its own connection too stays alone', async () => {
  const { call, opened } = isolated(fail(broken), fail(broken))
  for (let times = 0; times < 3; times += 1) await expect(call('a')).rejects.toBe(broken)
  expect(opened.map(({ closed }) => closed)).toEqual([true, true])
})

test.each([
  ['an answer of the driver', refused, 1],
  ['a failure that says nothing', new Error('x'), 2],
])('after %s, the call is repeated on the right connection', async (_, error, own) => {
  const { call, opened } = isolated(fail(broken), fail(error))
  await expect(call('a')).rejects.toBe(broken)
  await expect(call('a')).rejects.toBe(error)
  await expect(call('a')).rejects.toBeDefined()
  expect(opened).toHaveLength(own)
})

test('an error of the driver puts no call under suspicion', async () => {
  const { call, opened } = isolated(fail(refused), () => ({}))
  for (let times = 0; times < 2; times += 1) await expect(call('a')).rejects.toBe(refused)
  expect(opened).toEqual([])
})

test('the time for a connection of its own is part of the time of the call', async () => {
  const clock = new FakeClock()
  const connection = new FakeConnection({ [UNPUBLISH]: fail(broken) })
  const open = (signal: AbortSignal): Promise<FakeConnection> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const isolation = new Isolation({ clock, open })
  const call = () =>
    isolation.call(connection, {
      method: ControllerUnpublishVolume,
      request: request('a'),
      options: { timeoutMs: 1_000 },
    })
  await expect(call()).rejects.toBe(broken)
  const again = expect(call()).rejects.toThrow('rpc error: code = DeadlineExceeded desc = context deadline exceeded')
  await clock.advance(1_000)
  await again
})

test('a driver that cannot be reached is unavailable', async () => {
  const connection = new FakeConnection({ [UNPUBLISH]: fail(broken) })
  const open = () => Promise.reject(new Error('gone'))
  const isolation = new Isolation({ clock: new FakeClock(), open })
  const call = () =>
    isolation.call(connection, {
      method: ControllerUnpublishVolume,
      request: request('a'),
      options: { timeoutMs: 1_000 },
    })
  await expect(call()).rejects.toBe(broken)
  await expect(call()).rejects.toThrow('code = Unavailable desc = no connection to the CSI driver')
})
