import { createSecureServer } from 'node:http2'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect as connectTcp, createServer, type Server, type Socket } from 'node:net'
import { systemClock } from '@csi-sidecars/base'
import { selfSignedCertificate } from '@csi-sidecars/base/self-signed'
import type { Address } from '@csi-sidecars/http1'
import { silentLogger } from '@csi-sidecars/telemetry'
import { type Cluster, startCluster } from '@csi-sidecars/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { ClusterConfig, ServerTrust } from '../config/cluster-config.ts'
import { loadClusterConfig } from '../config/load.ts'
import { parseProxy, throughProxy } from '../config/proxy.ts'
import { parseServer } from '../config/server-url.ts'
import { createKubeClient } from '../create-client.ts'

let cluster: Cluster
let config: ClusterConfig
const servers: Pick<Server, 'close'>[] = []
const sockets = new Set<Socket>()
beforeAll(async () => {
  cluster = await startCluster({ api: { tls: true } })
  config = await loadClusterConfig({ kubeconfig: cluster.kubeconfig, env: {}, log: silentLogger, clock: systemClock })
})
afterAll(() => cluster.stop())
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  for (const server of servers.splice(0)) server.close()
})

async function ask(change: Partial<ClusterConfig>): Promise<unknown> {
  const flow = { kind: 'adaptive' } as const
  const options = { config: { ...config, ...change }, flow, clock: systemClock, log: silentLogger, userAgent: 'test' }
  const client = createKubeClient(options)
  try {
    return await client.discover('/api/v1')
  } finally {
    client.close()
  }
}

async function listen(serve: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined))
    serve(socket)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const trust = (change: Partial<ServerTrust>): Partial<ClusterConfig> => {
  if (config.tls === undefined) throw new Error('the cluster has no TLS')
  return { tls: { ...config.tls, ...change } }
}
const prefix = (): string => `Get "${config.origin}/api/v1": `

describe('TLS', () => {
  test('the client trusts the certificate authority of the configuration', async () => {
    expect(await ask({})).toMatchObject({ kind: 'APIResourceList' })
  })

  test('the client connects without verification if configured, and then reads no authorities', async () => {
    const authorities = (): never => {
      throw new Error('must not be read')
    }
    expect(await ask(trust({ authorities, insecure: true }))).toMatchObject({ kind: 'APIResourceList' })
  })

  test('the client refuses a certificate of an unknown authority', async () => {
    const message = `${prefix()}tls: failed to verify certificate: x509: certificate signed by unknown authority`
    await expect(ask(trust({ authorities: () => undefined }))).rejects.toMatchObject({ code: 0, message })
  })

  test('the client refuses a certificate with another server name', async () => {
    const message = expect.stringMatching(
      /: tls: failed to verify certificate: x509: certificate is valid for .*, not other\.example\.com$/,
    )
    await expect(ask(trust({ serverName: 'other.example.com' }))).rejects.toMatchObject({ code: 0, message })
  })

  /** Unusual spellings of 127.0.0.1 and 87.0.0.1. CVE-2026-105483, -106069 and -106072 of Node.js concern them. */
  test.each(['0177.0.0.1', '0x7f.0.0.1', '2130706433', '127.1', '１２７.0.0.1', '127。0。0。1', '0127.0.0.1'])(
    'the client checks the certificate of the server %s against the address to which it connects',
    async (host) => {
      // A DNS name that looks like an address must not match that address.
      const names = ['127.0.0.1', '*.0.0.1', host].filter((name) => /^[\x20-\x7e]+$/.test(name))
      const who = { commonName: '127.0.0.1', dnsNames: names, addresses: [[10, 0, 0, 1]] }
      const certificate = selfSignedCertificate({ ...who, now: systemClock.now(), days: 1 })
      const asked: unknown[] = []
      const server = createTlsServer(certificate, (request, response) => {
        asked.push(request.url)
        response.end('{}')
      })
      servers.push(server)
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      const dialled: string[] = []
      // The proxy connects every address to this server, including addresses of other machines.
      const proxy = ({ host: address }: Address): Promise<Socket> => {
        dialled.push(address)
        return new Promise((resolve) => {
          const socket = connectTcp(port, '127.0.0.1', () => resolve(socket))
          sockets.add(socket)
        })
      }
      const { origin } = parseServer(`https://${host}:${port}`, true) ?? {}
      for (const each of [origin ?? '', `https://${host}:${port}`]) {
        const message = expect.stringMatching(/x509: (?:cannot validate certificate|certificate is valid) for /)
        const failed = ask({ origin: each, proxy, ...trust({ authorities: () => certificate.cert }) })
        await expect(failed).rejects.toMatchObject({ code: 0, message })
      }
      expect(asked).toEqual([])
      expect(new Set(dialled)).toEqual(new Set([host === '0127.0.0.1' ? '87.0.0.1' : '127.0.0.1']))
    },
  )

  test('the client reports a server without TLS', async () => {
    const port = await listen((socket) => socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'))
    const origin = `https://127.0.0.1:${port}`
    const message = `Get "${origin}/api/v1": http: server gave HTTP response to HTTPS client`
    await expect(ask({ origin })).rejects.toMatchObject({ code: 0, message })
  })

  test('the client reports a server that supports only HTTP/2', async () => {
    const who = { commonName: 'server', dnsNames: [], addresses: [[127, 0, 0, 1]] }
    const server = createSecureServer(selfSignedCertificate({ ...who, now: systemClock.now(), days: 1 }))
    server.on('secureConnection', (socket) => sockets.add(socket))
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    const message = `Get "${origin}/api/v1": the server speaks no HTTP/1.1`
    await expect(ask({ origin, ...trust({ insecure: true }) })).rejects.toMatchObject({ code: 0, message })
  })

  test('the client reports certificate authorities that cannot be read', async () => {
    const authorities = (): never => {
      throw new Error('open /ca: no such file or directory')
    }
    const message = `${prefix()}open /ca: no such file or directory`
    await expect(ask(trust({ authorities }))).rejects.toMatchObject({ code: 0, message })
  })
})

/** Forwards the connection of a client to a port, as a proxy does. */
function join(client: Socket, port: number): void {
  const onward = connectTcp(port, '127.0.0.1')
  sockets.add(onward.on('error', () => client.destroy()))
  client.pipe(onward).pipe(client)
}

describe('HTTP proxies', () => {
  test('an HTTP proxy forwards the connection of the client, and receives the credentials of its URL', async () => {
    let request = ''
    const port = await listen((socket) =>
      socket.once('data', (bytes) => {
        request = bytes.toString()
        socket.write('HTTP/1.1 200 Connection established\r\nX: y\r\n\r\n')
        join(socket, Number(new URL(config.origin).port))
      }),
    )
    const proxy = throughProxy(parseProxy(`http://me:p%20w@127.0.0.1:${port}`))
    expect(await ask({ proxy })).toMatchObject({ kind: 'APIResourceList' })
    const { host } = new URL(config.origin)
    const secret = Buffer.from('me:p w').toString('base64')
    expect(request).toBe(`CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\nProxy-Authorization: Basic ${secret}\r\n\r\n`)
  })

  test.each([
    ['HTTP/1.1 407 Proxy Authentication Required\r\n\r\n', 'Proxy Authentication Required'],
    ['SSH-2.0\r\n\r\n', 'proxy answered no HTTP'],
    ['HTTP/1.1 200 OK\r\n\r\nok', 'proxy answered CONNECT with a body instead of a tunnel'],
    ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n', 'proxy answered CONNECT with a body instead of a tunnel'],
  ])('the error of a connection quotes the reason of an HTTP proxy that answers %j', async (answer, reason) => {
    const port = await listen((socket) => socket.once('data', () => socket.write(answer)))
    const proxy = throughProxy(parseProxy(`http://127.0.0.1:${port}`))
    await expect(ask({ proxy })).rejects.toMatchObject({ code: 0, message: prefix() + reason })
  })

  test('the client opens a tunnel even if the HTTP proxy sends Content-Length: 0', async () => {
    const port = await listen((socket) =>
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
        join(socket, Number(new URL(config.origin).port))
      }),
    )
    const proxy = throughProxy(parseProxy(`http://127.0.0.1:${port}`))
    expect(await ask({ proxy })).toMatchObject({ kind: 'APIResourceList' })
  })

  test('the client reports an unreachable HTTP proxy', async () => {
    const proxy = throughProxy(parseProxy('http://127.0.0.1:1'))
    const message = `${prefix()}dial tcp 127.0.0.1:1: connect: connection refused`
    await expect(ask({ proxy })).rejects.toMatchObject({ code: 0, message })
  })
})
