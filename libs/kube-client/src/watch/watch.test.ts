import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { FakeClock } from '@csi-sidecars/base/testing'
import { PODS, type Pod } from '@csi-sidecars/kube-types'
import { silentLogger } from '@csi-sidecars/telemetry'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { WatchOptions } from '../api/client.ts'
import { fixedCredentials } from '../config/cluster-config.ts'
import { createKubeClient, type OwnedKubeClient } from '../create-client.ts'

let clock: FakeClock
let server: Server
let client: OwnedKubeClient
let urls: string[]
let serve: (response: ServerResponse) => void
let open: ServerResponse | undefined

beforeEach(async () => {
  clock = new FakeClock({ random: () => 0.5 })
  urls = []
  server = createServer((request, response) => {
    // The client reads this path now and then to check whether the server is reachable.
    if (request.url === '/version') return void response.end('{}')
    urls.push(request.url ?? '')
    open = response
    serve(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const config = {
    origin,
    basePath: '',
    tls: undefined,
    credentials: fixedCredentials(undefined),
    headers: [],
    proxy: undefined,
  }
  const flow = { kind: 'adaptive' } as const
  client = createKubeClient({ config, flow, clock, log: silentLogger, userAgent: 'test' })
})
afterEach(() => {
  client.close()
  server.closeAllConnections()
  server.close()
})

const pod = (name: string): object => ({ metadata: { name, resourceVersion: '1' } })
const line = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`
const bookmark = (annotations?: object): string => line('BOOKMARK', { metadata: { resourceVersion: '9', annotations } })

async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 5000 && !condition(); turn += 1) await clock.settle()
  expect(condition()).toBe(true)
}

/** Reads a whole watch and returns its frames as text. */
async function read(options: WatchOptions<Pod> = {}, received: string[] = []): Promise<string[]> {
  for await (const frame of client.watch(PODS, options)) {
    if (frame.type === 'END') received.push(`END ${frame.why}${frame.error ? `: ${frame.error.message}` : ''}`)
    else if (frame.type === 'BOOKMARK') received.push(`BOOKMARK ${frame.resourceVersion} ${frame.initialEventsEnd}`)
    else received.push(`${frame.type} ${frame.object.metadata?.name}`)
  }
  return received
}

describe('a stream', () => {
  test('a watch delivers every change, however the stream is split into chunks', async () => {
    const text = line('ADDED', pod('a')) + line('MODIFIED', pod('ä')) + line('DELETED', pod('a')) + bookmark()
    const bytes = Buffer.from(text)
    serve = (response) => {
      for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7))
      response.end()
    }
    expect(await read()).toEqual(['ADDED a', 'MODIFIED ä', 'DELETED a', 'BOOKMARK 9 false', 'END closed'])
  })

  test('a watch marks the end of a streaming list', async () => {
    serve = (response) => response.end(bookmark({ 'k8s.io/initial-events-end': 'true' }))
    expect(await read({ sendInitialEvents: true })).toEqual(['BOOKMARK 9 true', 'END closed'])
  })

  test.each<[string, (response: ServerResponse) => void, string]>([
    [
      'that the connection cuts',
      (r) => void r.write(line('ADDED', pod('a')), () => r.destroy()),
      'broken: unexpected EOF',
    ],
    ['that ends within a frame', (r) => r.end('{"type":"ADD'), 'broken: unexpected EOF'],
    ['of HTML', (r) => r.end('<html>\n'), 'badFrame: no watch event: 6 characters of HTML, not JSON'],
    [
      'of JSON that is no event',
      (r) => r.end('{"kind":"Pod"}\n'),
      'badFrame: no watch event: there is no type or no object',
    ],
    [
      'of an unknown event',
      (r) => r.end(line('RENAMED', pod('a'))),
      'badFrame: unknown type of watch event: "RENAMED"',
    ],
    ['of an empty bookmark', (r) => r.end(line('BOOKMARK', {})), 'badFrame: a bookmark without a resourceVersion'],
    [
      'with an ERROR',
      (r) => r.end(line('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' })),
      'error: too old',
    ],
    [
      'with an ERROR that is no Status',
      (r) => r.end(line('ERROR', { secret: 'x' })),
      'error: an ERROR without a Status',
    ],
    ['that the server ends regularly', (r) => r.end(), 'closed'],
  ])('a watch %s ends with the matching reason', async (_, how, end) => {
    serve = how
    expect((await read()).at(-1)).toBe(`END ${end}`)
  })

  test('a watch throws an error if the server refuses the request', async () => {
    const status = JSON.stringify({ kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' })
    serve = (response) => response.writeHead(410).end(status)
    await expect(read()).rejects.toMatchObject({ code: 410, reason: 'Expired', message: 'too old resource version' })
  })
})

describe('silence', () => {
  test('a silent watch that cannot resume ends half a minute after its time limit', async () => {
    serve = (response) => response.flushHeaders()
    const seen: string[] = []
    const done = read({}, seen)
    await until(() => open !== undefined)
    // The head of the response has arrived, so that its limit of 90 s no longer applies.
    await clock.settle()
    await clock.advance(450_000 + 29_999)
    expect(seen).toEqual([])
    await clock.advance(1)
    expect(await done).toEqual(['END silent'])
  })

  test('a watch that is silent for 45 s continues on a new connection, with no change lost or repeated', async () => {
    const changes = ['a', 'b', 'c'].map((name, at) => ({ metadata: { name, resourceVersion: `${at + 2}` } }))
    const after = (version: number): string =>
      changes
        .slice(version - 1)
        .map((object) => line('ADDED', object))
        .join('')
    const answers: ServerResponse[] = []
    serve = (response) => {
      answers.push(response)
      response.flushHeaders()
    }
    const seen: string[] = []
    const done = read({ resourceVersion: '1' }, seen)
    await until(() => answers.length === 1)
    answers[0]?.write(line('ADDED', changes[0]))
    await until(() => seen.length === 1)
    await clock.advance(45_000)
    await until(() => answers.length === 2)
    expect(urls[1]).toContain('resourceVersion=2&')
    answers[1]?.write(after(2))
    await until(() => clock.nextIn === 2000)
    await clock.advance(2000)
    await until(() => seen.length === 3)
    await until(() => answers[0]?.destroyed === true)
    answers[1]?.end()
    expect(await done).toEqual(['ADDED a', 'ADDED b', 'ADDED c', 'END closed'])
  })

  test('a watch request fails if its response never begins', async () => {
    serve = () => undefined
    const done = read().catch((error: unknown) => error)
    await until(() => open !== undefined)
    await clock.advance(90_000)
    expect(await done).toMatchObject({ code: 0, message: expect.stringContaining('context deadline exceeded') })
  })
})

describe('a reader', () => {
  test('a reader that stops a watch closes the connection and leaves no timer behind', async () => {
    serve = (response) => void response.write(line('ADDED', pod('a')))
    for await (const frame of client.watch(PODS, {})) {
      expect(frame.type).toBe('ADDED')
      break
    }
    await until(() => open?.destroyed === true)
    expect(clock.pending).toBe(0)
  })

  test('an aborted signal ends a watch with its reason', async () => {
    serve = (response) => response.flushHeaders()
    const stop = new AbortController()
    const done = read({ signal: stop.signal }).catch((error: unknown) => error)
    await until(() => open !== undefined)
    await clock.settle()
    const reason = new Error('enough')
    stop.abort(reason)
    expect(await done).toBe(reason)
    await until(() => open?.destroyed === true)
    expect(clock.pending).toBe(0)
  })

  test('a slow reader of a watch slows the server down, and loses no change', async () => {
    const big = 'x'.repeat(64 * 1024)
    const count = 400
    let sent = 0
    serve = (response) => {
      const more = (): void => {
        while (sent < count) {
          sent += 1
          if (!response.write(line('ADDED', pod(`${sent}${big}`)))) return void response.once('drain', more)
        }
        response.end()
      }
      more()
    }
    const names: string[] = []
    let sentAtFirst = 0
    for await (const frame of client.watch(PODS, {})) {
      if (frame.type !== 'ADDED') continue
      if (names.length === 0) {
        for (let turn = 0; turn < 300; turn += 1) await clock.settle()
        sentAtFirst = sent
      }
      names.push(frame.object.metadata?.name?.replace(big, '') ?? '')
    }
    expect(sentAtFirst).toBeLessThan(count)
    expect(names).toEqual(Array.from({ length: count }, (_, at) => `${at + 1}`))
  })
})

test('the client sends the options of a watch in the query', async () => {
  serve = (response) => response.end()
  await read({ namespace: 'ns', resourceVersion: '7', fieldSelector: 'metadata.name=a' })
  await read({ sendInitialEvents: true })
  expect(urls).toEqual([
    '/api/v1/namespaces/ns/pods?allowWatchBookmarks=true&fieldSelector=metadata.name%3Da&resourceVersion=7&timeoutSeconds=450&watch=true',
    '/api/v1/pods?allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeoutSeconds=450&watch=true',
  ])
})
