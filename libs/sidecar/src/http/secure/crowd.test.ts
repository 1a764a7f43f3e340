import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { systemClock } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { makeAuthority } from '@csi-sidecars/testkit'
import { describe, expect, test } from '@jest/globals'
import { Reviews } from './reviews.ts'
import { ScriptedReviews } from './testing/scripted-reviews.ts'
import { SecureServer } from './testing/secure-server.ts'

const pair = makeAuthority('ca').server('endpoint')

interface Crowd extends AsyncDisposable {
  readonly open: number
}

/** Clients that connect one after the other, each as `enter` says. */
async function crowd(count: number, enter: () => Promise<Socket>): Promise<Crowd> {
  const sockets: Socket[] = []
  for (let number = 0; number < count; number += 1) sockets.push(await enter())
  return {
    get open() {
      return sockets.filter(({ closed }) => !closed).length
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(
        sockets.map(async (socket) => {
          if (socket.closed) return
          socket.destroy()
          await once(socket, 'close')
        }),
      )
    },
  }
}

async function opened(socket: Socket, event: string, bytes: string): Promise<Socket> {
  socket.on('error', () => undefined)
  socket.resume()
  await Promise.race([once(socket, event), once(socket, 'close')])
  if (bytes !== '') await new Promise((resolve) => socket.write(bytes, resolve))
  return socket
}

/** Connected, and as far in the handshake as the bytes say. */
const begun = (port: number, bytes: string): Promise<Socket> => opened(connect(port, '127.0.0.1'), 'connect', bytes)

const secured = (port: number, bytes: string): Promise<Socket> =>
  opened(connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }), 'secureConnect', bytes)

/** The head of a ClientHello that announces more than follows. */
const HALF_A_HELLO = '\x16\x03\x01\x01\x00\x01\x00'

describe('clients in great numbers', () => {
  const KINDS: readonly (readonly [string, number, (port: number) => Promise<Socket>])[] = [
    ['that never begin the handshake', 300, (port) => begun(port, '')],
    ['that never end the handshake', 300, (port) => begun(port, HALF_A_HELLO)],
    ['that say nothing after it', 100, (port) => secured(port, '')],
    ['that never end their request', 100, (port) => secured(port, 'GET /metrics HTTP/1.1\r\nHost: x\r\n')],
    ['that keep what was answered open', 100, (port) => secured(port, 'GET /none HTTP/1.1\r\nHost: x\r\n\r\n')],
  ]

  test.each(KINDS)('%s keep no probe waiting: %i', async (_, count, enter) => {
    await using server = await SecureServer.start({ pair })
    await using clients = await crowd(count, () => enter(server.port))
    for (let probe = 0; probe < 10; probe += 1) {
      const begin = systemClock.monotonic()
      expect(await server.status('/livez')).toBe(200)
      expect(systemClock.monotonic() - begin).toBeLessThan(1_000)
    }
    // The oldest are closed when each had its time to send a request.
    while (clients.open > 64) expect(await server.status('/livez')).toBe(200)
  })

  test('whose answers do not come keep no probes waiting, several at a time', async () => {
    const api = new ScriptedReviews({})
    api.silent = true
    const reviews = new Reviews(new FakeClock(), () => api.client)
    await using server = await SecureServer.start({ pair, reviews })
    const scrape = 'GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n'
    await using _ = await crowd(70, () => secured(server.port, scrape))
    for (let round = 0; round < 5; round += 1) {
      const begin = systemClock.monotonic()
      const probes = Array.from({ length: 4 }, () => server.status('/livez'))
      expect(await Promise.all(probes)).toEqual([200, 200, 200, 200])
      expect(systemClock.monotonic() - begin).toBeLessThan(1_000)
    }
  })

  test('leave alone who is being answered, however old', async () => {
    await using server = await SecureServer.start({ pair })
    const gate = Promise.withResolvers<void>()
    let asked = false
    server.metrics.onCollect(() => {
      asked = true
      return gate.promise
    })
    const scrape = server.status('/metrics')
    while (!asked) await server.status('/none')
    await using _ = await crowd(100, () => begun(server.port, HALF_A_HELLO))
    expect(await server.status('/livez')).toBe(200)
    gate.resolve()
    expect(await scrape).toBe(200)
  })
})

test('one that never ends the handshake does not delay the close', async () => {
  const server = await SecureServer.start({ pair })
  const socket = await begun(server.port, HALF_A_HELLO)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  const begin = systemClock.monotonic()
  await server[Symbol.asyncDispose]()
  await closed
  // By itself it would have had five seconds.
  expect(systemClock.monotonic() - begin).toBeLessThan(2_000)
})
