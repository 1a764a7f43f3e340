import { makeAuthority } from '@csi-sidecars/testkit'
import { describe, expect, test } from '@jest/globals'
import { SecureServer } from '../../testing/secure-server.ts'

const ca = makeAuthority('ca')
const other = makeAuthority('other')
const pair = ca.server('endpoint')
const scraper = ca.client('/O=ops/CN=scraper')
const stranger = other.client('/CN=stranger')

describe('client certificates', () => {
  test('with --client-ca-file a client without a certificate may request only the health paths', async () => {
    await using server = await SecureServer.start({ pair, clientCa: ca.cert })
    expect((await server.get('/livez')).body).toBe('ok')
    const { status, body } = await server.get('/metrics')
    expect([status, body]).toEqual([401, 'Unauthorized\n'])
    for (const path of ['/none', '/livez/x', '//livez', '/open', '/debug/stuck']) {
      expect([path, await server.status(path)]).toEqual([path, 401])
    }
    expect(await server.status('/open/x')).toBe(404)
  })

  test.each([
    ['of the authority', scraper, 200],
    ['of one below the authority', ca.intermediate('below').client('/CN=scraper'), 200],
    ['of another authority', stranger, 401],
    ['for servers', ca.client('/CN=scraper', 'serverAuth'), 401],
    ['without a name', ca.client('/O=ops'), 401],
  ])('with --client-ca-file a client certificate %s gets the status %i', async (_, client, expected) => {
    await using server = await SecureServer.start({ pair, clientCa: ca.cert })
    expect(await server.status('/metrics', { ...client })).toBe(expected)
    expect(await server.status('/livez', { ...client })).toBe(200)
  })

  test('a client with a bearer token still needs a client certificate', async () => {
    await using server = await SecureServer.start({ pair, clientCa: ca.cert })
    expect(await server.status('/metrics', { headers: { authorization: 'Bearer x' } })).toBe(401)
  })
})

describe('client authorities', () => {
  test('new authorities for client certificates apply to the next connection', async () => {
    await using server = await SecureServer.start({ pair, clientCa: ca.cert })
    const codes = async (): Promise<number[]> => [
      await server.status('/metrics', { ...scraper }),
      await server.status('/metrics', { ...stranger }),
    ]
    expect(await codes()).toEqual([200, 401])
    server.writeCa(ca.cert + other.cert)
    await server.readFiles()
    expect(await codes()).toEqual([200, 200])
    server.writeCa(other.cert)
    await server.readFiles()
    expect(await codes()).toEqual([401, 200])
  })

  test('an invalid file of client authorities is logged once, and the previous authorities stay in use', async () => {
    await using server = await SecureServer.start({ pair, clientCa: ca.cert })
    server.writeCa('nothing')
    for (let looks = 0; looks < 3; looks += 1) await server.readFiles()
    expect(await server.status('/metrics', { ...scraper })).toBe(200)
    expect(server.log.lines).toMatchObject([
      { level: 'error', message: 'Failed to load the CA bundle, the one before stays' },
    ])
  })

  test('a new client CA applies even if the certificate of the server becomes unusable', async () => {
    await using server = await SecureServer.start({ pair, clientCa: ca.cert })
    server.writePair({ cert: '', key: '' })
    server.writeCa(other.cert)
    await server.readFiles()
    expect(await server.status('/metrics', { ...stranger })).toBe(200)
  })
})
