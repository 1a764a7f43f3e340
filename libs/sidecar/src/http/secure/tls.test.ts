import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { systemClock } from '@csi-sidecars/base'
import { makeAuthority } from '@csi-sidecars/testkit'
import { describe, expect, test } from '@jest/globals'
import { SecureServer } from '../../testing/secure-server.ts'

const ca = makeAuthority('ca')
const first = ca.server('first')
const second = ca.server('second')

const nameOf = (socket: TLSSocket): string => String(socket.getPeerCertificate().subject.CN)

describe('the certificate', () => {
  test('the HTTPS server uses the certificate in its files, and clients can verify it', async () => {
    await using server = await SecureServer.start({ pair: first })
    const { status, body, socket } = await server.get('/livez', { ca: ca.cert, rejectUnauthorized: true })
    expect([status, body, nameOf(socket), socket.getProtocol()]).toEqual([200, 'ok', 'first', 'TLSv1.3'])
  })

  test('the HTTPS server uses a new certificate in its files for new connections', async () => {
    await using server = await SecureServer.start({ pair: first })
    expect(nameOf((await server.get('/livez')).socket)).toBe('first')
    server.writePair(second)
    await server.readFiles()
    expect(nameOf((await server.get('/livez')).socket)).toBe('second')
    expect(server.log.lines).toMatchObject([{ level: 2, message: 'Loaded a new cert/key pair' }])
  })

  test.each([
    ['of another key', { cert: second.cert, key: first.key }, 'tls: private key does not match public key'],
    ['that is invalid', { cert: 'x', key: first.key }, 'tls: failed to find any PEM data in certificate input'],
    ['without key', { cert: second.cert, key: '' }, 'tls: failed to find any PEM data in key input'],
    [
      'with an invalid key',
      { cert: second.cert, key: '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n' },
      'tls: failed to parse private key',
    ],
    [
      'with an invalid chain',
      { cert: second.cert + ca.cert.replace(/MII\w/, 'MIIA'), key: second.key },
      'error:0680009B:asn1 encoding routines::too long',
    ],
  ])('a new certificate %s is logged once, and the server keeps the old certificate', async (_, wrong, message) => {
    await using server = await SecureServer.start({ pair: first })
    server.writePair(wrong)
    for (let looks = 0; looks < 3; looks += 1) await server.readFiles()
    expect(nameOf((await server.get('/livez')).socket)).toBe('first')
    const refused = 'Failed to load the cert/key pair, the one before stays'
    expect(server.log.lines).toMatchObject([{ level: 'error', message: refused, error: { message } }])
    server.writePair(second)
    await server.readFiles()
    expect(nameOf((await server.get('/livez')).socket)).toBe('second')
  })

  test('an invalid certificate of the server ends the start with an error', async () => {
    await expect(SecureServer.start({ pair: { cert: second.cert, key: first.key } })).rejects.toThrow(
      'tls: private key does not match public key',
    )
  })

  test('a self-signed certificate is valid for the host name, localhost and 127.0.0.1', async () => {
    await using server = await SecureServer.start({})
    const { socket } = await server.get('/livez')
    const { raw } = socket.getPeerCertificate()
    const read = new X509Certificate(raw)
    expect([read.checkHost('host-1'), read.checkHost('localhost'), read.checkIP('127.0.0.1')]).toEqual([
      'host-1',
      'localhost',
      '127.0.0.1',
    ])
  })
})

describe('the handshake', () => {
  /** Returns the protocol and the cipher that a client with the given TLS options gets, or the error code. */
  function offer(port: number, options: object): Promise<string> {
    return new Promise((resolve) => {
      const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options }, () => {
        resolve(`${socket.getProtocol()} ${socket.getCipher().standardName}`)
        socket.destroy()
      })
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)))
    })
  }

  test('the HTTPS server offers TLS 1.2 and 1.3', async () => {
    await using server = await SecureServer.start({ pair: first })
    expect(await offer(server.port, { maxVersion: 'TLSv1.2' })).toMatch(/^TLSv1\.2 /)
    expect(await offer(server.port, {})).toMatch(/^TLSv1\.3 /)
  })

  test('the HTTPS server offers only TLS 1.3 if it is the minimum version', async () => {
    await using server = await SecureServer.start({ pair: first, settings: { minVersion: 'TLSv1.3' } })
    expect(await offer(server.port, { maxVersion: 'TLSv1.2' })).toMatch(/^ERR_SSL_/)
    expect(await offer(server.port, {})).toMatch(/^TLSv1\.3 /)
  })

  test.each([
    ['AES256-SHA', false],
    ['ECDHE-ECDSA-AES128-SHA', false],
    ['ECDHE-ECDSA-AES128-SHA256', false],
    ['ECDHE-ECDSA-AES256-SHA', false],
    ['ECDHE-ECDSA-AES128-GCM-SHA256', true],
    ['ECDHE-ECDSA-AES256-GCM-SHA384', true],
    ['ECDHE-ECDSA-CHACHA20-POLY1305', true],
  ])('the HTTPS server accepts the cipher suite %s with TLS 1.2 by default: %s', async (ciphers, accepted) => {
    await using server = await SecureServer.start({ pair: first })
    expect((await offer(server.port, { maxVersion: 'TLSv1.2', ciphers })).startsWith('TLSv1.2 ')).toBe(accepted)
  })

  test('the HTTPS server offers the given ciphers, even after a change of its certificate', async () => {
    const ciphers = 'TLS_AES_128_GCM_SHA256:ECDHE-ECDSA-AES256-GCM-SHA384'
    await using server = await SecureServer.start({ pair: first, settings: { ciphers } })
    for (const pair of [first, second]) {
      server.writePair(pair)
      await server.readFiles()
      expect(await offer(server.port, { maxVersion: 'TLSv1.2' })).toBe(
        'TLSv1.2 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
      )
      const other = 'ECDHE-ECDSA-AES128-GCM-SHA256'
      expect(await offer(server.port, { maxVersion: 'TLSv1.2', ciphers: other })).toMatch(/^ERR_SSL_/)
    }
  })

  test.each(['TLSv1.2', 'TLSv1.3'] as const)('the server does not resume a TLS session of %s', async (maxVersion) => {
    await using server = await SecureServer.start({ pair: first })
    const options = { host: '127.0.0.1', port: server.port, rejectUnauthorized: false, maxVersion } as const
    const sessions: Buffer[] = []
    const socket = connect({ ...options })
    socket.on('session', (session) => sessions.push(session))
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    socket.resume()
    await new Promise((resolve) => socket.once('close', resolve))
    const again = connect({ ...options, ...(sessions[0] && { session: sessions[0] }) })
    await new Promise((resolve) => again.once('secureConnect', resolve))
    expect(again.isSessionReused()).toBe(false)
    again.destroy()
  })

  test('an unfinished TLS handshake does not delay the close of the server', async () => {
    const server = await SecureServer.start({ pair: first })
    const socket = connectTcp(server.port, '127.0.0.1')
    socket.on('error', () => undefined)
    // The client sends the start of a ClientHello, but never the rest.
    socket.write('\x16\x03\x01\x01\x00\x01\x00')
    await once(socket, 'connect')
    expect(await server.status('/livez')).toBe(200)
    const closed = once(socket, 'close')
    const begin = systemClock.monotonic()
    await server[Symbol.asyncDispose]()
    await closed
    // Without the close, the server would have ended the handshake only after five seconds.
    expect(systemClock.monotonic() - begin).toBeLessThan(2_000)
  })

  test('a client that sends plain HTTP to the HTTPS server loses only its own connection', async () => {
    await using server = await SecureServer.start({ pair: first })
    await expect(fetch(`http://127.0.0.1:${server.port}/livez`)).rejects.toThrow('fetch failed')
    expect(await server.status('/livez')).toBe(200)
    expect(server.log.lines).toEqual([])
  })
})
