import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Cancel, Clock } from '@csi-sidecars/base'
import { isFromOtherSite, isOwnHost } from '@csi-sidecars/emulator'
import { type Asset, loadAssets } from './assets.ts'
import type { ActionAnswer, Beginning, Frame } from './view/wire.ts'

/** The web server of the page. It listens on loopback only, and accepts actions only from its own page. */
export interface PageServer {
  readonly url: string
  /** Sends a frame to every open page, together with other frames of the next 40 ms. */
  send(frame: Frame): void
  stop(): Promise<void>
}

/** The answers of the page's server. */
export interface PageServerOptions {
  /** The port of the server. 0: any free port. */
  readonly port: number
  readonly clock: Clock
  readonly beginning: () => Beginning
  readonly onAction: (body: unknown) => Promise<ActionAnswer>
}

/** The limit of unsent bytes of one page. Above this limit, the page loses its connection. */
const MAX_UNREAD_BYTES = 8 * 1024 * 1024
/** The time for which frames are collected. More frequent updates would not be visible. */
const GATHER_MS = 40
/** The limit of concurrent actions. One user with one mouse does not need more. */
const MAX_ACTIONS = 8

const HEADERS = {
  // The browser loads files from this server only, even if a name in the cluster contains HTML.
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
}

export async function startPageServer(options: PageServerOptions): Promise<PageServer> {
  const served = new Served(options, await loadAssets())
  const server = createServer((request, response) => served.answer(request, response))
  await once(server.listen(options.port, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    send: (frame) => served.send(frame),
    stop: () =>
      new Promise((resolve) => {
        served.end()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

class Served {
  readonly #options: PageServerOptions
  readonly #assets: ReadonlyMap<string, Asset>
  readonly #streams = new Set<ServerResponse>()
  #frames: Frame[] = []
  #gathering: Cancel | undefined
  #actions = 0

  constructor(options: PageServerOptions, assets: ReadonlyMap<string, Asset>) {
    this.#options = options
    this.#assets = assets
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url?.split('?')[0] ?? '/'
    const asset = this.#assets.get(path)
    if (!isAdmitted(request)) response.writeHead(403, HEADERS).end()
    else if (request.method === 'POST') void this.#post(path, request, response)
    else if (path === '/frames') this.#open(response)
    else if (asset === undefined) response.writeHead(404, HEADERS).end()
    else response.writeHead(200, { ...HEADERS, 'content-type': asset.type }).end(asset.body)
  }

  send(frame: Frame): void {
    if (this.#streams.size === 0) return
    this.#frames.push(frame)
    this.#gathering ??= this.#options.clock.schedule(GATHER_MS, () => this.#flush())
  }

  end(): void {
    this.#gathering?.()
    for (const stream of this.#streams) stream.end()
  }

  #flush(): void {
    this.#gathering = undefined
    const frames = this.#frames
    this.#frames = []
    if (frames.length > 0) for (const stream of this.#streams) send(stream, 'frames', frames)
  }

  /** Answers with server-sent events: first the whole state, then the frames. */
  #open(response: ServerResponse): void {
    // Sends the collected frames to the other pages first. The first event of the new page already contains them.
    this.#flush()
    response.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream' })
    this.#streams.add(response)
    response.on('close', () => this.#streams.delete(response))
    send(response, 'beginning', this.#options.beginning())
  }

  async #post(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { code, body } = path === '/actions' ? await this.#action(request) : { code: 404, body: {} }
    // The connection is closed, because a part of the request body may be unread.
    const headers = { ...HEADERS, 'content-type': 'application/json', connection: 'close' }
    response.writeHead(code, headers).end(JSON.stringify(body))
  }

  async #action(request: IncomingMessage): Promise<{ readonly code: number; readonly body: object }> {
    if (this.#actions >= MAX_ACTIONS)
      return { code: 429, body: { done: false, text: 'Too much at once: wait a moment.' } }
    this.#actions += 1
    try {
      const body = await bodyOf(request)
      // The code is 200 even if the cluster refuses the action, because a browser logs other codes as page errors.
      return { code: 200, body: await this.#options.onAction(body) }
    } catch {
      return { code: 400, body: { done: false, text: 'The request ended before it was complete.' } }
    } finally {
      this.#actions -= 1
    }
  }
}

function send(stream: ServerResponse, event: string, data: unknown): void {
  if (stream.writableLength > MAX_UNREAD_BYTES) stream.destroy()
  else stream.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
}

/**
 * Reports whether the page's server accepts a request. A link on another site may open the page, but only requests of
 * the page itself may perform actions.
 */
function isAdmitted({ method, headers }: IncomingMessage): boolean {
  if (!isOwnHost(headers)) return false
  if (method === 'GET') return true
  if (method !== 'POST' || headers.origin === undefined || isFromOtherSite(headers, 'http')) return false
  // A page of another site can send a form, but it cannot send JSON without a preflight request.
  return headers['content-type'] === 'application/json'
}

const MAX_BODY_BYTES = 16 * 1024

/** Returns the parsed JSON body. Undefined if the body is no JSON or longer than 16 KiB. */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = ''
  // The request must not be destroyed after a long body, because its connection still has to carry the answer.
  for await (const chunk of request.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    text += chunk
    if (Buffer.byteLength(text) > MAX_BODY_BYTES) return undefined
  }
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
