import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { digestOf } from '../tools/layout.ts'
import { Registry } from './registry.ts'

const CONTENT = Buffer.from('{"schemaVersion":2}')
const absent = (code: string): string => JSON.stringify({ errors: [{ code, message: 'no' }] })

describe('a registry', () => {
  let server: Server
  let host: string
  let answers: ((request: IncomingMessage, response: ServerResponse) => void)[]
  let requests: string[]

  beforeEach(async () => {
    answers = []
    requests = []
    jest.spyOn(process.stderr, 'write').mockReturnValue(true)
    server = createServer((request, response) => {
      requests.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`.trim())
      const answer = answers.shift()
      if (answer === undefined) throw new Error(`no answer for ${request.url}`)
      answer(request, response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  })

  afterEach(() => {
    jest.restoreAllMocks()
    server.closeAllConnections()
    server.close()
  })

  const says = (status: number, body: string | Buffer = '', headers: Record<string, string> = {}) => {
    answers.push((_, response) => response.writeHead(status, headers).end(body))
  }
  const cuts = (): void => {
    answers.push((request) => request.socket.destroy())
  }
  const registry = (): Registry => new Registry({ host, waits: [0, 0], credentials: { user: 'me', token: 'secret' } })

  it.each(['MANIFEST_UNKNOWN', 'NAME_UNKNOWN'])('has nothing under a tag if it says %s', async (code) => {
    says(404, absent(code))
    expect(await registry().digestOf('o/n', 'v1')).toBeUndefined()
  })

  it('gives the digest of what a tag names', async () => {
    says(200, CONTENT)
    expect(await registry().digestOf('o/n', 'v1')).toBe(digestOf(CONTENT))
    expect(requests).toEqual(['GET /v2/o/n/manifests/v1'])
  })

  it.each([
    [404, '<html>not found</html>'],
    [403, absent('DENIED')],
    [400, absent('MANIFEST_UNKNOWN')],
  ])('is not asked past an answer %d, and it is never taken for absent: %s', async (status, body) => {
    says(status, body)
    await expect(registry().digestOf('o/n', 'v1')).rejects.toThrow(`the registry answers ${status}: ${body}`)
  })

  it('is asked again when the connection breaks or it cannot answer now, and not without end', async () => {
    cuts()
    says(503, 'later')
    says(200, CONTENT)
    expect(await registry().digestOf('o/n', 'v1')).toBe(digestOf(CONTENT))
    for (let tries = 0; tries < 3; tries += 1) cuts()
    await expect(registry().digestOf('o/n', 'v1')).rejects.toThrow('fetch failed')
    expect(answers).toEqual([])
  })

  it('gives a token for credentials, once for a repository', async () => {
    const challenge = `Bearer realm="http://${host}/token",service="s",scope="repository:o/n:pull"`
    says(401, '', { 'www-authenticate': challenge })
    says(200, '{"token":"given"}')
    says(200, CONTENT)
    says(200)
    const asked = registry()
    await asked.digestOf('o/n', 'v1')
    expect(await asked.hasBlob('o/n', digestOf(CONTENT))).toBe(true)
    const basic = `Basic ${Buffer.from('me:secret').toString('base64')}`
    expect(requests).toEqual([
      'GET /v2/o/n/manifests/v1',
      `GET /token?service=s&scope=repository%3Ao%2Fn%3Apull ${basic}`,
      'GET /v2/o/n/manifests/v1 Bearer given',
      `HEAD /v2/o/n/blobs/${digestOf(CONTENT)} Bearer given`,
    ])
  })

  it('stores a blob where it says, by its digest', async () => {
    says(202, '', { location: '/v2/o/n/blobs/uploads/7?state=x' })
    says(201)
    await registry().putBlob('o/n', CONTENT)
    expect(requests[1]).toBe(`PUT /v2/o/n/blobs/uploads/7?state=x&digest=${encodeURIComponent(digestOf(CONTENT))}`)
  })
})
