import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { systemClock } from '@csi-sidecars/base'
import { selfSignedCertificate } from '@csi-sidecars/base/self-signed'
import { FakeClock } from '@csi-sidecars/base/testing'
import { silentLogger } from '@csi-sidecars/telemetry'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { fixedCredentials } from '../config/cluster-config.ts'
import { createKubeClient } from '../create-client.ts'
import { AnsweringServer, get, OBJECT, patch, UNLIMITED } from '../testing/answering-server.ts'

/** Skips a test before Node.js 26.12.1, which cannot report unread bytes. The npm package for arm64 is older. */
const testWithPeek = process.versions.node.localeCompare('26.12.1', 'en', { numeric: true }) < 0 ? test.skip : test

/** Node.js had CVE-2026-48931 and CVE-2026-105481 for answers on idle connections. These tests check our pool. */

const BODY = JSON.stringify({ metadata: { name: 'planted', resourceVersion: '9' } })
const ANSWER = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`

describe('idle connections', () => {
  let server: AnsweringServer
  beforeEach(async () => {
    server = await AnsweringServer.start(new FakeClock())
  })
  afterEach(() => server.close())

  const ended = async (socket: Socket | undefined): Promise<boolean> => {
    await server.until(() => socket?.destroyed === true)
    return true
  }

  test('a response without a request closes the idle connection on which it arrives', async () => {
    const client = server.connect()
    await get(client)
    const [first] = server.seen
    first?.socket.write(ANSWER)
    expect(await ended(first?.socket)).toBe(true)
    expect(await get(client)).toEqual(JSON.parse(OBJECT))
  })

  testWithPeek.each([
    ['read', get],
    ['write', patch],
  ])('an answer on an idle connection does not answer the next %s, even if it is still unread', async (_, request) => {
    const client = server.connect()
    await get(client)
    const [first] = server.seen
    // The loopback device delivers at once, but this process reads only in its next turn of the event loop.
    first?.socket.write(ANSWER)
    expect(await request(client)).toEqual(JSON.parse(OBJECT))
    expect(server.seen.map(({ socket }) => socket === first?.socket)).toEqual([true, false])
    expect(await ended(first?.socket)).toBe(true)
  })
})

testWithPeek('the client never treats bytes that arrive on an idle TLS connection as a later answer', async () => {
  const certificate = selfSignedCertificate({
    commonName: 'test',
    dnsNames: [],
    addresses: [[127, 0, 0, 1]],
    now: systemClock.now(),
    days: 1,
  })
  const sockets: Socket[] = []
  const server = createServer(certificate, (request, response) => {
    sockets.push(request.socket)
    response.setHeader('Content-Type', 'application/json').end(OBJECT)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = createKubeClient({
    config: {
      origin: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
      basePath: '',
      tls: { insecure: false, serverName: undefined, authorities: () => certificate.cert },
      credentials: fixedCredentials('Bearer t'),
      headers: [],
      proxy: undefined,
    },
    flow: UNLIMITED,
    clock: systemClock,
    log: silentLogger,
    userAgent: 'test',
  })
  try {
    await get(client)
    sockets[0]?.write(ANSWER)
    expect(await get(client)).toEqual(JSON.parse(OBJECT))
    expect(new Set(sockets).size).toBe(2)
    // TLS session tickets do not count as answers, so the connection is used again.
    await get(client)
    expect(new Set(sockets).size).toBe(2)
  } finally {
    client.close()
    server.closeAllConnections()
    server.close()
  }
})
