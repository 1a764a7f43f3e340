import type { IncomingMessage, ServerResponse } from 'node:http'
import { Agent, createServer, request, type Server } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { eventually, pause } from './waiting.ts'
import type { Fault, FaultRule, WireRequest } from './wire.ts'

export interface GateOptions {
  readonly upstream: string
  readonly ca: string
  readonly certificate: { readonly cert: string; readonly key: string }
}

interface OpenWatch {
  readonly request: WireRequest
  readonly response: ServerResponse
  /** The server's, once it has come. */
  answer: IncomingMessage | undefined
}

/**
 * The door between one sidecar and the API server: sees each request with its headers and body, and can close.
 * HTTP/1.1 over TLS, with the server's own certificate.
 */
export class Gate {
  readonly requests: WireRequest[] = []
  /** Asked for each request, in order; the first answer counts. */
  readonly rules: FaultRule[] = []
  readonly #upstream: string
  readonly #agent: Agent
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #watches = new Set<OpenWatch>()
  readonly #secured = new Set<Socket>()
  readonly #dead = new WeakSet<Socket>()
  #port = 0

  constructor({ upstream, ca, certificate }: GateOptions) {
    this.#upstream = upstream
    this.#agent = new Agent({ keepAlive: true, ca })
    this.#server = createServer({ ...certificate, keepAliveTimeout: 600_000 }, (incoming, response) => {
      this.#handle(incoming, response).catch(() => response.destroy())
    })
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
      socket.on('error', () => undefined)
    })
    this.#server.on('secureConnection', (socket: Socket) => {
      this.#secured.add(socket)
      socket.on('close', () => this.#secured.delete(socket))
    })
    this.#server.on('tlsClientError', () => undefined)
  }

  get url(): string {
    return `https://127.0.0.1:${this.#port}`
  }

  /** Listens, on the same port as before if there was one. */
  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(this.#port, '127.0.0.1', () => {
        this.#server.off('error', reject)
        this.#port = (this.#server.address() as AddressInfo).port
        resolve()
      })
    })
  }

  /** Nobody answers any more: connections are cut and new ones refused. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  async stop(): Promise<void> {
    await this.close()
    this.#agent.destroy()
  }

  /** Ends open watches as a server does that restarts. */
  dropWatches(plural?: string): void {
    for (const { request, response } of this.#watches) {
      if (plural === undefined || request.resource === plural) response.destroy()
    }
  }

  /** Open watches stay open and bring no more news, as behind a proxy that hangs. */
  muteWatches(): void {
    for (const { answer, response } of this.#watches) answer?.unpipe(response)
  }

  /**
   * The connections of now stay open and what comes on them is acknowledged, but nobody ever answers again; new ones are
   * well. Returns how many that are.
   */
  blackHole(): number {
    this.muteWatches()
    for (const socket of this.#secured) this.#dead.add(socket)
    return this.#secured.size
  }

  openWatches(plural: string): number {
    return [...this.#watches].filter(({ request, response }) => request.resource === plural && response.headersSent)
      .length
  }

  /** What changed something, in the order of arrival; leases and events are looked at apart. */
  writes(...resources: readonly string[]): WireRequest[] {
    return this.requests.filter(
      ({ method, resource }) =>
        method !== 'GET' &&
        (resources.length > 0 ? resources.includes(resource) : resource !== 'leases' && resource !== 'events'),
    )
  }

  /** As `writes`, once all that is under way is answered: the world may see a write before its author does. */
  async settledWrites(...resources: readonly string[]): Promise<WireRequest[]> {
    const answered = (): boolean => this.writes(...resources).every(({ end }) => end !== undefined)
    await eventually('answers to all writes', answered)
    return this.writes(...resources)
  }

  async #handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const entry = await this.#note(incoming)
    if (this.#dead.has(incoming.socket)) return
    response.on('finish', () => {
      entry.end = Date.now()
    })
    for (const rule of this.rules) {
      const fault = rule(entry)
      if (fault === undefined) continue
      if (fault.kind === 'wait') {
        await fault.for
        break
      }
      if (fault.kind === 'cut') {
        incoming.socket.destroy()
        return
      }
      if (fault.kind === 'raw') {
        entry.code = fault.code
        response.writeHead(fault.code, { 'content-type': 'application/json', ...fault.headers })
        if (fault.ending === undefined || fault.ending === 'end') response.end(fault.bytes)
        else response.write(fault.bytes, () => fault.ending === 'cut' && incoming.socket.destroy())
        return
      }
      if (fault.kind === 'answer') {
        entry.code = fault.code
        response.writeHead(fault.code, { 'content-type': 'application/json', ...fault.headers })
        response.end(JSON.stringify(fault.body))
        return
      }
      await this.#forward(entry, incoming, undefined)
      incoming.socket.destroy()
      return
    }
    await this.#forward(entry, incoming, response)
  }

  #forward(entry: WireRequest, incoming: IncomingMessage, response: ServerResponse | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const sent = request(new URL(incoming.url ?? '/', this.#upstream), {
        method: entry.method,
        headers: incoming.headers,
        agent: this.#agent,
      })
      const watching: OpenWatch | undefined = response && { request: entry, response, answer: undefined }
      if (entry.watch && watching !== undefined) this.#watches.add(watching)
      response?.on('close', () => {
        if (watching !== undefined) this.#watches.delete(watching)
        if (!response.writableFinished) sent.destroy()
        resolve()
      })
      sent.on('error', reject)
      sent.on('response', (answer) => {
        entry.code = answer.statusCode ?? 0
        if (response === undefined) {
          answer.resume().on('end', resolve)
          return
        }
        response.writeHead(entry.code, answer.headers)
        response.flushHeaders()
        answer.on('error', () => response.destroy())
        if (watching !== undefined) watching.answer = answer
        answer.pipe(response)
      })
      sent.end(entry.bytes)
    })
  }

  async #note(incoming: IncomingMessage): Promise<WireRequest> {
    const time = Date.now()
    const seq = this.requests.length
    const url = new URL(incoming.url ?? '/', this.#upstream)
    const query = Object.fromEntries(url.searchParams)
    const { headers, method = 'GET' } = incoming
    const chunks: Buffer[] = []
    const entry = {
      seq,
      time,
      method,
      path: url.pathname,
      query,
      ...placeOf(url.pathname),
      watch: query['watch'] === 'true' || query['watch'] === '1',
      contentType: headers['content-type'],
      userAgent: headers['user-agent'],
      authorization: headers.authorization,
      traceparent: headers['traceparent']?.toString(),
      bytes: Buffer.alloc(0),
      body: undefined as unknown,
      code: 0,
      end: undefined,
    }
    this.requests.push(entry)
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    entry.bytes = Buffer.concat(chunks)
    entry.body = jsonOf(entry.bytes)
    return entry
  }
}

/** A fault that holds a request back until it is released. */
export function hold(): { readonly fault: Fault; release(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { fault: { kind: 'wait', for: promise }, release: () => resolve() }
}

export function slow(ms: number): Fault {
  return { kind: 'wait', for: pause(ms) }
}

/** An answer in the API server's own form. */
export function refusal(code: number, reason: string, message: string, retryAfterSeconds?: number): Fault {
  const body = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code }
  if (retryAfterSeconds === undefined) return { kind: 'answer', code, body }
  return { kind: 'answer', code, body, headers: { 'retry-after': String(retryAfterSeconds) } }
}

/** A part of a request's body, by its keys. */
export function partOf(request: WireRequest | undefined, ...keys: readonly string[]): unknown {
  let part: unknown = request?.body
  for (const key of keys) part = typeof part === 'object' && part !== null ? Reflect.get(part, key) : undefined
  return part
}

interface Place {
  readonly resource: string
  readonly namespace: string | undefined
  readonly name: string | undefined
}

/** `/apis/storage.k8s.io/v1/volumeattachments/a/status` -> volumeattachments/status, a. */
function placeOf(path: string): Place {
  const parts = path.split('/').slice(1).map(decodeURIComponent)
  const rest = parts[0] === 'api' ? parts.slice(2) : parts[0] === 'apis' ? parts.slice(3) : []
  const namespace = rest[0] === 'namespaces' && rest.length > 2 ? rest[1] : undefined
  const [plural = '', name, subresource] = namespace === undefined ? rest : rest.slice(2)
  return { resource: subresource === undefined ? plural : `${plural}/${subresource}`, namespace, name }
}

function jsonOf(bytes: Buffer): unknown {
  if (bytes.length === 0 || (bytes[0] !== 0x7b && bytes[0] !== 0x5b)) return undefined
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}
