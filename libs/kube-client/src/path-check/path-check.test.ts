import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { deadline } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { LEASES, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { type RecordingLogger, recordingLogger } from '@csi-sidecars/telemetry/testing'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { WatchFrame } from '../api/client.ts'
import { type ClusterConfig, fixedCredentials } from '../config/cluster-config.ts'
import { createKubeClient, type OwnedKubeClient } from '../create-client.ts'
import { NetworkPathCheck } from './path-check.ts'

const WARNING = 'No answer from the API server, closing the connections that are older than the request'

let clock: FakeClock
let log: RecordingLogger
let server: Server
let config: ClusterConfig
let client: OwnedKubeClient
let leaseClient: OwnedKubeClient
let seen: { readonly event: string; readonly at: number }[]
/** The sockets on which the server no longer answers. */
let dead: Set<Socket>
let sockets: Set<Socket>
let watches: ServerResponse[]
let frames: WatchFrame<unknown>[]

beforeEach(async () => {
  clock = new FakeClock()
  log = recordingLogger()
  seen = []
  frames = []
  watches = []
  dead = new Set()
  sockets = new Set()
  server = createServer(serve)
  server.on('connection', (socket) => sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  config = {
    path: new NetworkPathCheck({ clock, log }),
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    basePath: '',
    tls: undefined,
    credentials: fixedCredentials(undefined),
    headers: [],
    proxy: undefined,
  }
  client = createKubeClient({ config, flow: { kind: 'adaptive' }, clock, log, userAgent: 'test' })
  leaseClient = createKubeClient({ config, flow: { kind: 'adaptive' }, clock, log, userAgent: 'test' })
})
afterEach(async () => {
  client.close()
  leaseClient.close()
  await clock.settle()
  expect(clock.pending).toBe(0)
  server.closeAllConnections()
  server.close()
})

function serve(request: IncomingMessage, response: ServerResponse): void {
  const path = (request.url ?? '').replace(/\?.*/, '')
  const watch = request.url?.includes('watch=true') === true
  seen.push({ event: `${request.method} ${path}${watch ? ' (watch)' : ''}`, at: clock.monotonic() })
  if (dead.has(request.socket)) return
  if (!watch) return void response.end('{"metadata":{"name":"x","resourceVersion":"1"}}')
  response.writeHead(200).flushHeaders()
  watches.push(response)
}

async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 5000 && !condition(); turn += 1) await clock.settle()
  expect(condition()).toBe(true)
}
/** Lets time pass in small steps, so that real sockets can work. */
async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) {
    await clock.advance(Math.min(left, 500))
    for (let turn = 0; turn < 10; turn += 1) await clock.settle()
  }
}
async function watch(): Promise<void> {
  const before = watches.length
  const reading = (async () => {
    for await (const frame of client.watch(PERSISTENT_VOLUMES, {})) frames.push(frame)
  })()
  reading.catch(() => undefined)
  await until(() => watches.length > before)
}
const lease = async (ms = 5000): Promise<unknown> => {
  using limit = deadline(clock, ms, { operation: 'lease request' })
  const options = { lane: 'lease', signal: limit.signal } as const
  return await leaseClient.get(LEASES, { name: 'l', namespace: 'ns' }, options).catch((error: unknown) => error)
}
const blackHole = (): void => {
  dead = new Set(sockets)
}
const reads = (): number[] => seen.filter(({ event }) => event === 'GET /version').map(({ at }) => at)
const warnings = (): string[] => log.lines.map(({ message }) => message).filter((message) => message === WARNING)

describe('small reads', () => {
  test('without a Lease, the client checks its connections by a small read every 16 s', async () => {
    await watch()
    await pass(50_000)
    expect(reads()).toEqual([1000, 17_000, 33_000, 49_000])
    expect(frames).toEqual([])
  })

  test('without a Lease, the client sends no further small reads while its watch stream receives data', async () => {
    await watch()
    for (let round = 0; round < 10; round += 1) {
      watches[0]?.write('\n')
      await pass(10_000)
    }
    expect(reads()).toEqual([1000])
  })

  test('the client sends no small reads if it has no open watch stream', async () => {
    await client.get(PERSISTENT_VOLUMES, { name: 'x' })
    await pass(95_000)
    expect(reads()).toEqual([])
  })

  test.each([2, 15, 18, 40])('without a Lease, connections close within 27 s of a failure at %d s', async (seconds) => {
    await watch()
    await pass(seconds * 1000)
    blackHole()
    await pass(27_000)
    expect(frames).toMatchObject([{ type: 'END', why: 'broken', error: { message: 'client connection lost' } }])
    expect(warnings()).toHaveLength(1)
    // The server answers on connections that are opened later.
    await watch()
    await client.get(PERSISTENT_VOLUMES, { name: 'x' })
    await pass(95_000)
    expect(frames).toHaveLength(1)
    expect(warnings()).toHaveLength(1)
  })

  test('without a Lease the client finds a dead connection even if newer connections get answers', async () => {
    await watch()
    await pass(10_000)
    blackHole()
    for (let second = 0; second < 27; second += 1) {
      await client.get(PERSISTENT_VOLUMES, { name: 'x' }, { newConnection: true })
      await pass(1000)
    }
    expect(frames).toMatchObject([{ why: 'broken' }])
  })

  test('the client replaces the connection of its small reads if the server has closed it', async () => {
    await watch()
    await pass(2000)
    for (const socket of sockets) if (socket !== watches[0]?.socket) socket.destroy()
    await pass(16_000)
    expect(reads()).toHaveLength(2)
    expect([frames, warnings()]).toEqual([[], []])
  })

  test('the client keeps its connections if the server answers small reads slowly', async () => {
    await watch()
    await pass(2000)
    server.removeAllListeners('request')
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void clock.sleep(9000).then(() => serve(request, response))
    })
    await pass(125_000)
    expect(reads().length).toBeGreaterThan(2)
    expect(frames).toEqual([])
  })
})

describe('lease renewals', () => {
  const renewing = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 5000) {
      const asked = lease()
      await pass(5000)
      await asked
    }
  }

  test('the client sends no small reads if another client of the process renews a lease', async () => {
    await lease()
    await watch()
    await renewing(100_000)
    expect(reads()).toEqual([])
  })

  test('an unanswered renewal of the Lease closes all older connections', async () => {
    await lease()
    await watch()
    await renewing(20_000)
    blackHole()
    const work = client.get(PERSISTENT_VOLUMES, { name: 'x' }).catch((error: unknown) => error)
    await renewing(10_000)
    expect(frames).toMatchObject([{ type: 'END', why: 'broken' }])
    expect(warnings()).toHaveLength(1)
    // The read used a new connection, because no idle connection was left.
    expect(await work).toMatchObject({ metadata: { name: 'x' } })
    expect(await lease()).toMatchObject({ metadata: { name: 'x' } })
  })

  test('a watch stream that still receives bytes stays open after an unanswered renewal of the Lease', async () => {
    await lease()
    await watch()
    await watch()
    await pass(1000)
    const [alive] = watches
    blackHole()
    const asked = lease()
    await pass(3000)
    alive?.write('\n')
    await pass(2000)
    await asked
    expect(frames).toMatchObject([{ type: 'END', why: 'broken' }])
    expect(warnings()).toHaveLength(1)
    expect(alive?.socket?.destroyed).toBe(false)
  })

  test('a renewal of the Lease that its caller cancels after 1.5 s closes no connection', async () => {
    await lease()
    await watch()
    await pass(1000)
    blackHole()
    const asked = lease(1500)
    await pass(1500)
    await asked
    expect(frames).toEqual([])
  })
})
