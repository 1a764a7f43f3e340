import { request } from 'node:http'
import { FakeClock } from '@csi-sidecars/base/testing'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { type PageServer, startPageServer } from './server.ts'
import type { ActionAnswer } from './view/wire.ts'

interface Answer {
  readonly code: number | undefined
  readonly headers: NodeJS.Dict<string | string[]>
  readonly text: string
}

interface Asked {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Sends a request by `node:http`, because `fetch` refuses headers such as Host. */
function ask(url: string, { method = 'GET', headers = {}, body }: Asked = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (response) => {
      let text = ''
      const answer = () => ({ code: response.statusCode, headers: response.headers, text })
      // A stream of events does not end by itself, so the request ends after the first data.
      if (response.headers['content-type'] === 'text/event-stream') response.once('data', () => response.destroy())
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      response.once('close', () => resolve(answer()))
    })
    sent.once('error', reject).end(body)
  })
}

let server: PageServer
let clock: FakeClock
let bodies: unknown[]
let action: (body: unknown) => Promise<ActionAnswer>
beforeEach(async () => {
  clock = new FakeClock()
  bodies = []
  action = async () => ({ done: true, text: 'It is done.' })
  const beginning = () => ({ items: [], frames: [{ at: 1, gone: ['first'] }] })
  const onAction = (body: unknown): Promise<ActionAnswer> => {
    bodies.push(body)
    return action(body)
  }
  server = await startPageServer({ port: 0, clock, beginning, onAction })
})
afterEach(() => server.stop())

const at = (path: string): string => new URL(path, server.url).href
const origin = (): string => new URL(server.url).origin
const JSON_TYPE = { 'content-type': 'application/json' }

describe('startPageServer', () => {
  it('the server of the page sends the page, its styles and its script, and a policy that forbids other sources', async () => {
    const page = await ask(server.url)
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
    const policy = String(page.headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
    expect(policy).not.toContain('unsafe')
    const links = [...page.text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path = '']) => path)
    expect(links).toEqual(['/base.css', '/page.css', '/cluster.css', '/view/main.ts'])
    for (const path of links) expect((await ask(at(path))).code).toBe(200)
    const script = await ask(at('/view/main.ts'))
    expect(script.headers['content-type']).toBe('text/javascript; charset=utf-8')
    expect(script.text).not.toContain('import type')
  })

  it('the server of the page serves every script that the scripts of the page import', async () => {
    const seen = new Set<string>(['/view/main.ts'])
    for (const path of seen) {
      const { code, text } = await ask(at(path))
      expect([path, code]).toEqual([path, 200])
      for (const [, name = ''] of text.matchAll(/from '\.\/([^']+)'/g)) seen.add(`/view/${name}`)
    }
    expect(seen.size).toBeGreaterThan(8)
  })

  it('the server of the page listens on loopback only', () => {
    expect(new URL(server.url).hostname).toBe('127.0.0.1')
  })

  it('the server of the page refuses requests with a foreign Host header', async () => {
    const headers = { host: 'evil.example.com' }
    expect((await ask(server.url, { headers })).code).toBe(403)
    expect((await ask(at('/frames'), { headers })).code).toBe(403)
    const ownHost = { host: `localhost:${new URL(server.url).port}` }
    expect((await ask(server.url, { headers: ownHost })).code).toBe(200)
  })

  it('the server of the page refuses other paths and other methods', async () => {
    expect((await ask(at('/x'))).code).toBe(404)
    expect((await ask(at('/view/../server.ts'))).code).toBe(404)
    expect((await ask(server.url, { method: 'PUT' })).code).toBe(403)
  })

  it('a newly opened page gets the whole state first, and then several changes in one message', async () => {
    const response = await fetch(at('/frames'))
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    const first = (await reader?.read())?.value
    server.send({ at: 2, gone: ['a'] })
    server.send({ at: 3, gone: ['b'] })
    await clock.advance(40)
    const second = (await reader?.read())?.value
    expect([first, second]).toEqual([
      'event: beginning\ndata: {"items":[],"frames":[{"at":1,"gone":["first"]}]}\n\n',
      'event: frames\ndata: [{"at":2,"gone":["a"]},{"at":3,"gone":["b"]}]\n\n',
    ])
  })

  it('the server of the page does not collect changes while no page is open', () => {
    server.send({ at: 2, gone: ['a'] })
    expect(clock.pending).toBe(0)
  })
})

describe('POST /actions', () => {
  const post = (change: Asked = {}): Promise<Answer> =>
    ask(at('/actions'), {
      method: 'POST',
      headers: { ...JSON_TYPE, origin: origin() },
      body: '{"action":"x"}',
      ...change,
    })

  it('the server of the page runs an action that its own page has sent', async () => {
    const { code, text } = await post({ headers: { ...JSON_TYPE, origin: origin(), 'sec-fetch-site': 'same-origin' } })
    expect([code, JSON.parse(text)]).toEqual([200, { done: true, text: 'It is done.' }])
    expect(bodies).toEqual([{ action: 'x' }])
  })

  it('the answer to an impossible action contains the reason', async () => {
    action = async () => ({ done: false, text: 'No.' })
    expect(await post()).toMatchObject({ code: 200, text: '{"done":false,"text":"No."}' })
  })

  const foreign: [string, () => Readonly<Record<string, string>>][] = [
    ['of a page of another site', () => ({ ...JSON_TYPE, origin: 'http://evil.example.com' })],
    ['of a page of another port', () => ({ ...JSON_TYPE, origin: 'http://127.0.0.1:1' })],
    ['of a page with the origin null', () => ({ ...JSON_TYPE, origin: 'null' })],
    ['without an Origin header', () => JSON_TYPE],
    ['with a cross-site header', () => ({ ...JSON_TYPE, origin: origin(), 'sec-fetch-site': 'cross-site' })],
    ['of an HTML form', () => ({ 'content-type': 'text/plain', origin: origin() })],
    [
      'for a foreign host name that resolves to this server',
      () => ({ ...JSON_TYPE, host: 'evil.example.com', origin: 'http://evil.example.com' }),
    ],
  ]
  it.each(foreign)('the server of the page refuses an action %s', async (_, headers) => {
    expect((await post({ headers: headers() })).code).toBe(403)
    expect(bodies).toEqual([])
  })

  it('the server of the page ignores the body of an action if it is too long or not JSON', async () => {
    await post({ body: JSON.stringify({ action: 'x'.repeat(20_000) }) })
    await post({ body: 'x' })
    expect(bodies).toEqual([undefined, undefined])
  })

  it('the server of the page answers 404 to an action with an unknown path', async () => {
    expect((await ask(at('/x'), { method: 'POST', headers: { ...JSON_TYPE, origin: origin() } })).code).toBe(404)
  })

  it('the server of the page answers 429 to an action while eight actions run', async () => {
    const hold = Promise.withResolvers<ActionAnswer>()
    action = () => hold.promise
    const first = Array.from({ length: 8 }, () => post())
    while (bodies.length < 8) await clock.settle()
    expect((await post()).code).toBe(429)
    hold.resolve({ done: true, text: '' })
    expect((await Promise.all(first)).map(({ code }) => code)).toEqual(Array(8).fill(200))
  })
})
