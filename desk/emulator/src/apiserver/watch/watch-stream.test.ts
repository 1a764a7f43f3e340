import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { FakeClock } from '@csi-sidecars/base/testing'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { FaultAction } from '../../faults/request-faults.ts'
import { PLAIN } from '../codec/representation.ts'
import { CONFIG_MAP } from '../schema/kinds.ts'
import { Store } from '../storage/store.ts'
import { Watches } from './watches.ts'

const LIMITS = { bookmarkMs: 60_000, stallMs: 30_000 }

let clock: FakeClock
let store: Store
let watches: Watches
let server: Server
let query: URLSearchParams
let fault: FaultAction | undefined
let ended: Promise<void>

beforeEach(async () => {
  clock = new FakeClock()
  store = new Store({ history: { changes: 5_000, bytes: 64 * 1024 * 1024 } })
  watches = new Watches(store, clock, LIMITS)
  query = new URLSearchParams()
  fault = undefined
  server = createServer((_request, response) => {
    ended = serve(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})

afterEach(() => {
  server.closeAllConnections()
  server.close()
})

function serve(response: ServerResponse): Promise<void> {
  const selection = { namespace: undefined, name: undefined, query, shape: PLAIN }
  response.writeHead(200)
  response.flushHeaders()
  return watches.serve(response, CONFIG_MAP, watches.requestOf(CONFIG_MAP, selection, fault))
}

function upsert(name: string, data = ''): void {
  store.upsert(CONFIG_MAP, `n/${name}`, { metadata: { name, namespace: 'n' }, data: { data } })
}

/** A client that reads nothing from its socket until `read` is called. */
class Reader {
  readonly socket: Socket
  text = ''

  constructor() {
    this.socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    this.socket.on('error', () => undefined)
    this.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  }

  read(): void {
    this.socket.on('data', (chunk) => {
      this.text += String(chunk)
    })
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise((resolve) => this.socket.once('data', resolve))
  }

  get names(): string[] {
    return [...this.text.matchAll(/"type":"(\w+)".*?"name":"([\w-]+)"/g)].map(([, type, name]) => `${type} ${name}`)
  }
}

async function open(): Promise<Reader> {
  const reader = new Reader()
  while (watches.size === 0) await clock.settle()
  return reader
}

test('a watch sends bookmarks with the newest version at a fixed interval', async () => {
  query.set('allowWatchBookmarks', 'true')
  query.set('resourceVersion', String(store.revision))
  const reader = await open()
  reader.read()
  upsert('a')
  await reader.until(() => reader.names.length === 1)
  await clock.advance(LIMITS.bookmarkMs)
  await reader.until(() => reader.text.includes('BOOKMARK'))
  expect(reader.text).toContain(`"resourceVersion":"${store.revision}"`)
})

test('a watch ends by itself after timeoutSeconds, and leaves no timer', async () => {
  query.set('timeoutSeconds', '5')
  const reader = await open()
  reader.read()
  await clock.advance(5_000)
  await ended
  expect({ open: watches.size, timers: clock.pending }).toEqual({ open: 0, timers: 0 })
})

test('a watch client that stops reading costs little memory, and gets all events later', async () => {
  query.set('resourceVersion', String(store.revision))
  const reader = await open()
  for (let index = 0; index < 2_000; index += 1) upsert(`c-${index}`, 'x'.repeat(5_000))
  await clock.settle()
  const [waiting] = [...(await connections())].map((socket) => socket.writableLength)
  expect(waiting).toBeLessThan(1024 * 1024)
  reader.read()
  await reader.until(() => reader.names.length === 2_000)
  expect(new Set(reader.names).size).toBe(2_000)
  expect(reader.names.at(-1)).toBe('ADDED c-1999')
})

test('a watch client that does not read for `stallMs` is disconnected', async () => {
  await open()
  for (let index = 0; index < 3_000; index += 1) upsert(`c-${index}`, 'x'.repeat(5_000))
  await clock.settle()
  await clock.advance(LIMITS.stallMs)
  await ended
  expect({ open: watches.size, timers: clock.pending }).toEqual({ open: 0, timers: 0 })
})

test('a slow watch client gets 410 if the history no longer has the changes that it needs', async () => {
  query.set('resourceVersion', String(store.revision))
  const reader = await open()
  for (let index = 0; index < 6_000; index += 1) upsert(`c-${index}`, 'x'.repeat(2_000))
  await clock.settle()
  reader.read()
  await ended
  await reader.until(() => reader.text.includes('ERROR'))
  expect(reader.text).toContain('"reason":"Expired"')
})

test.each<[string, FaultAction, string]>([
  ['close', { kind: 'endWatch', afterFrames: 1, how: 'close' }, '\r\n0\r\n'],
  ['expired', { kind: 'endWatch', afterFrames: 1, how: 'expired' }, '"code":410'],
  ['garbage', { kind: 'endWatch', afterFrames: 1, how: 'garbage' }, '{"meta\n'],
])('the fault `%s` ends a watch after its first event', async (_what, action, trace) => {
  fault = action
  upsert('a')
  const reader = new Reader()
  reader.read()
  await reader.until(() => reader.text.includes(trace))
  expect(reader.names).toContain('ADDED a')
})

test('the fault `silent` stops the events of a watch, but leaves its connection open', async () => {
  fault = { kind: 'endWatch', afterFrames: 1, how: 'silent' }
  upsert('a')
  const reader = await open()
  reader.read()
  await reader.until(() => reader.names.length === 1)
  upsert('b')
  await clock.settle()
  expect({ open: watches.size, names: reader.names }).toEqual({ open: 1, names: ['ADDED a'] })
})

async function connections(): Promise<Iterable<Socket>> {
  await clock.settle()
  return sockets
}

const sockets = new Set<Socket>()
beforeEach(() => {
  sockets.clear()
  server.on('connection', (socket) => sockets.add(socket))
})
