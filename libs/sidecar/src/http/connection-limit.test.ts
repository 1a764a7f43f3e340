import { EventEmitter } from 'node:events'
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { FakeClock } from '@csi-sidecars/base/testing'
import { beforeEach, expect, test } from '@jest/globals'
import { ConnectionLimit } from './connection-limit.ts'

/** As much of a connection as the limit looks at. */
class FakeSocket extends EventEmitter {
  destroyed = false
  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }
}

let clock: FakeClock
let server: EventEmitter
let limit: ConnectionLimit
beforeEach(() => {
  clock = new FakeClock()
  server = new EventEmitter()
  limit = new ConnectionLimit(server as Server, clock)
})

function come(count: number): FakeSocket[] {
  return Array.from({ length: count }, () => {
    const socket = new FakeSocket()
    server.emit('connection', socket)
    return socket
  })
}

/** Returns what ends the answer. */
function ask(socket: FakeSocket): () => void {
  const response = new EventEmitter()
  server.emit('request', requestOf(socket), response)
  return () => void response.emit('close')
}

const requestOf = (socket: FakeSocket): IncomingMessage => ({ socket: socket as unknown as Socket }) as IncomingMessage
const open = (sockets: readonly FakeSocket[]): number => sockets.filter(({ destroyed }) => !destroyed).length

test('the oldest give way, but only after all have been heard', async () => {
  const clients = come(300)
  expect(open(clients)).toBe(300)
  await clock.advance(100)
  expect(open(clients)).toBe(64)
  expect(open(clients.slice(-64))).toBe(64)
})

test('one that is heard in time stays, whatever comes before and after it', async () => {
  const crowd = come(100)
  const [probe = new FakeSocket()] = come(1)
  crowd.push(...come(200))
  const answered = ask(probe)
  await clock.advance(100)
  answered()
  expect(probe.destroyed).toBe(false)
  expect(open(crowd)).toBeLessThanOrEqual(64)
})

test('clients that come again at once are closed a few at a time, and newcomers not before them', async () => {
  let clients = come(300)
  const closedIn = async (ms: number): Promise<number> => {
    await clock.advance(ms)
    const closed = clients.length - open(clients)
    clients = [...clients.filter(({ destroyed }) => !destroyed), ...come(closed)]
    return closed
  }
  expect(await closedIn(100)).toBe(236)
  for (let seconds = 0; seconds < 3; seconds += 1) await closedIn(1000)
  const [probe = new FakeSocket()] = come(1)
  await closedIn(1000)
  expect(probe.destroyed).toBe(false)
  expect(open(clients)).toBe(300)
})

test('where more come than are closed, each newcomer costs the oldest', () => {
  const clients = come(500)
  expect(open(clients)).toBe(384)
  expect(open(clients.slice(-384))).toBe(384)
})

test('answers that are not read cost the connections of the oldest, never that of the newest', () => {
  const clients = come(5)
  for (const client of clients) {
    ask(client)
    limit.weigh(requestOf(client), 3 * 1024 * 1024)
  }
  expect(clients.map(({ destroyed }) => destroyed)).toEqual([true, true, true, false, false])
  const [greedy = new FakeSocket()] = come(1)
  ask(greedy)
  limit.weigh(requestOf(greedy), 100 * 1024 * 1024)
  expect([...clients, greedy].map(({ destroyed }) => destroyed)).toEqual([true, true, true, true, true, false])
})

test('an answer that was read counts no more', () => {
  const clients = come(5)
  for (const client of clients) {
    const read = ask(client)
    limit.weigh(requestOf(client), 6 * 1024 * 1024)
    read()
  }
  expect(open(clients)).toBe(5)
})
