import { request } from 'node:http'
import { describe, expect, it } from '@jest/globals'
import { startPageServer } from './server.ts'

const EMPTY = { nodes: [], rows: [], events: [] }

interface Answer {
  readonly code: number | undefined
  readonly headers: NodeJS.Dict<string | string[]>
}

function get(url: string, options: { readonly host?: string; readonly method?: string } = {}): Promise<Answer> {
  const { host, method = 'GET' } = options
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, ...(host !== undefined && { headers: { host } }) }, (response) => {
      response.destroy()
      resolve({ code: response.statusCode, headers: response.headers })
    })
    sent.once('error', reject).end()
  })
}

describe("the page's server", () => {
  it('serves one file that loads nothing else', async () => {
    const server = await startPageServer({ port: 0, snapshot: () => EMPTY })
    const { code, headers } = await get(server.url)
    expect([code, headers['content-type'], headers['content-security-policy']]).toEqual([
      200,
      'text/html; charset=utf-8',
      "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'",
    ])
    await server.stop()
  })

  it('listens on loopback only', async () => {
    const server = await startPageServer({ port: 0, snapshot: () => EMPTY })
    expect(new URL(server.url).hostname).toBe('127.0.0.1')
    await server.stop()
  })

  it('answers no page of somebody else that calls it by another name', async () => {
    const server = await startPageServer({ port: 0, snapshot: () => EMPTY })
    expect((await get(server.url, { host: 'evil.example.com' })).code).toBe(403)
    expect((await get(new URL('/events', server.url).href, { host: 'evil.example.com' })).code).toBe(403)
    await server.stop()
  })

  it('knows no other path and no other method', async () => {
    const server = await startPageServer({ port: 0, snapshot: () => EMPTY })
    expect([(await get(`${server.url}x`)).code, (await get(server.url, { method: 'POST' })).code]).toEqual([404, 403])
    await server.stop()
  })

  it('tells a page everything first, and then what changes', async () => {
    const server = await startPageServer({
      port: 0,
      snapshot: () => ({ ...EMPTY, nodes: [{ name: 'node-1', ready: true }] }),
    })
    const response = await fetch(new URL('/events', server.url))
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    const first = (await reader?.read())?.value
    server.tell({ gone: ['x'] })
    const second = (await reader?.read())?.value
    expect([first, second]).toEqual([
      'event: snapshot\ndata: {"nodes":[{"name":"node-1","ready":true}],"rows":[],"events":[]}\n\n',
      'event: change\ndata: {"gone":["x"]}\n\n',
    ])
    await server.stop()
  })
})
