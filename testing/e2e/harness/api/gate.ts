import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { Agent, createServer, request, type Server } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { eventually, pause } from '../waiting.ts'
import { DeliveredObjects } from './delivered-objects.ts'
import type { AnswerFault, Fault, FaultRule, WireRequest, WriteObserver } from './wire.ts'

/**
 * The API server behind a `Gate`, with its certificate authority as PEM. The gate presents `certificate` to the
 * sidecar.
 */
export interface GateOptions {
  readonly upstream: string
  readonly ca: string
  readonly certificate: { readonly cert: string; readonly key: string }
  /** Gets each answered write, before the sidecar gets the answer. */
  readonly observer?: WriteObserver | undefined
}

interface Injecting {
  readonly times?: number
  readonly where?: (request: WireRequest) => boolean
}

/** A fault that a gate injects into matching requests. `end` stops it early. */
export interface Injection {
  /** How often the fault was injected. */
  readonly count: number
  end(): void
}

interface OpenWatch {
  readonly request: WireRequest
  readonly response: ServerResponse
  /** The answer of the API server; undefined until it arrives. */
  answer: IncomingMessage | undefined
  readonly delivered: DeliveredObjects
}

/**
 * A proxy between one sidecar and the API server, for HTTP/1.1 over TLS. It records each request with headers and body,
 * and can inject faults.
 */
export class Gate {
  readonly requests: WireRequest[] = []
  /** The fault rules. For each request, the first rule that returns a fault decides. */
  readonly rules: FaultRule[] = []
  /** The number of connections so far, also of those without a request. */
  connections = 0
  readonly #upstream: string
  readonly #agent: Agent
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #watches = new Set<OpenWatch>()
  /** The lists of the sidecar, by the plural of their objects. */
  readonly #lists = new Map<string, DeliveredObjects[]>()
  readonly #secured = new Set<Socket>()
  readonly #dead = new WeakSet<Socket>()
  readonly #observer: WriteObserver | undefined
  #port = 0

  constructor({ upstream, ca, certificate, observer }: GateOptions) {
    this.#upstream = upstream
    this.#observer = observer
    this.#agent = new Agent({ keepAlive: true, ca })
    this.#server = createServer({ ...certificate, keepAliveTimeout: 600_000 }, (incoming, response) => {
      this.#handle(incoming, response).catch(() => response.destroy())
    })
    this.#server.on('connection', (socket: Socket) => {
      this.connections += 1
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

  /** Starts to listen. After `close`, the gate listens on the same port again. */
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

  /** Cuts all connections of the sidecar and refuses new connections. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  /** Refuses connections for this time, as an API server that is down. */
  async outage(forMs: number): Promise<void> {
    await this.close()
    await pause(forMs)
    await this.open()
  }

  async stop(): Promise<void> {
    await this.close()
    this.#agent.destroy()
  }

  /** Cuts open watches, like an API server that restarts. */
  dropWatches(plural?: string): void {
    for (const { request, response } of this.#watches) {
      if (plural === undefined || request.resource === plural) response.destroy()
    }
  }

  /** Stops delivering events to open watches, but keeps the watches open, like a hanging proxy. */
  muteWatches(plural?: string): void {
    for (const { request, answer, delivered } of this.#watches) {
      if (plural === undefined || request.resource === plural) answer?.unpipe(delivered)
    }
  }

  /** Pauses the open watches of these objects. The returned function delivers all missed events. */
  holdWatches(plural: string): () => void {
    const watches = [...this.#watches].filter(({ request }) => request.resource === plural)
    for (const { answer, delivered } of watches) answer?.unpipe(delivered)
    return () => {
      for (const { answer, delivered } of watches) answer?.pipe(delivered)
    }
  }

  /** Reports whether the sidecar was sent this version of an object of this kind, or a newer version. */
  delivered(plural: string, uid: string, version: bigint): boolean {
    return this.#readsOf(plural).some((read) => read.hasVersion(uid, version))
  }

  /** Reports whether a watch has sent the deletion of this object to the sidecar. */
  deliveredDeletion(plural: string, uid: string): boolean {
    return this.#readsOf(plural).some((read) => read.hasDeletion(uid))
  }

  #readsOf(plural: string): readonly DeliveredObjects[] {
    const watches = [...this.#watches].filter(({ request }) => request.resource === plural)
    return [...(this.#lists.get(plural) ?? []), ...watches.map(({ delivered }) => delivered)]
  }

  /**
   * Answers no further request on the open connections, and does not close them. New connections work. Returns the
   * number of silenced connections.
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

  /**
   * Injects a fault into all requests of a kind, or into the first `times` of them. `kind` is a method and a resource,
   * as in `PATCH persistentvolumes`. The method may be WATCH, READ (GET and WATCH), WRITE (all other methods) or *.
   */
  inject(
    kind: `${string} ${string}`,
    fault: Fault | (() => Fault),
    { times = Number.POSITIVE_INFINITY, where = () => true }: Injecting = {},
  ): Injection {
    const [verb = '', resource] = kind.split(' ')
    const injection = { count: 0, end: () => void this.rules.splice(this.rules.indexOf(rule), 1) }
    const rule: FaultRule = (request) => {
      const fits = isOf(verb, request) && request.resource === resource && where(request)
      if (!fits || injection.count === times) return undefined
      injection.count += 1
      return typeof fault === 'function' ? fault() : fault
    }
    this.rules.push(rule)
    return injection
  }

  requestsOf(...resources: readonly string[]): WireRequest[] {
    return this.requests.filter(({ resource }) => resources.includes(resource))
  }

  /** Returns the paths of the requests that the API server has forbidden. */
  forbidden(): string[] {
    return this.requests.flatMap(({ code, path }) => (code === 403 ? [path] : []))
  }

  /** Returns the writes to these resources in the order of arrival. Default: all resources except Leases and events. */
  writes(...resources: readonly string[]): WireRequest[] {
    return this.requests.filter(
      ({ method, resource }) =>
        method !== 'GET' &&
        (resources.length > 0 ? resources.includes(resource) : resource !== 'leases' && resource !== 'events'),
    )
  }

  /** Waits until all writes to these resources are answered, and returns these writes. */
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
      if (fault.kind === 'raw' || fault.kind === 'answer') {
        entry.code = fault.code
        if (entry.method !== 'GET') this.#observer?.answered(entry, undefined, undefined)
        response.writeHead(fault.code, { 'content-type': 'application/json', ...fault.headers })
        if (fault.kind === 'answer') response.end(JSON.stringify(fault.body))
        else if (fault.ending === undefined || fault.ending === 'end') response.end(fault.bytes)
        else response.write(fault.bytes, () => fault.ending === 'cut' && incoming.socket.destroy())
        return
      }
      await this.#forward(entry, incoming, undefined)
      incoming.socket.destroy()
      return
    }
    await this.#forward(entry, incoming, response)
  }

  async #forward(entry: WireRequest, incoming: IncomingMessage, response: ServerResponse | undefined): Promise<void> {
    if (this.#observer === undefined || entry.method === 'GET' || entry.resource === 'leases') {
      await this.#pipe(entry, incoming, response)
      return
    }
    const before = await this.#observer.read(entry)
    const { answer, body } = await this.#send(entry, incoming)
    entry.code = answer.statusCode ?? 0
    this.#observer.answered(entry, before, jsonOf(body) ?? {})
    response?.writeHead(entry.code, answer.headers).end(body)
  }

  /** Sends a write, and returns the whole answer, which is JSON also for a client that prefers protobuf. */
  #send(entry: WireRequest, incoming: IncomingMessage): Promise<{ answer: IncomingMessage; body: Buffer }> {
    return new Promise((resolve, reject) => {
      const { 'accept-encoding': _, ...headers } = incoming.headers
      const sent = request(new URL(incoming.url ?? '/', this.#upstream), {
        method: entry.method,
        headers: { ...headers, accept: 'application/json' },
        agent: this.#agent,
      })
      sent.on('error', reject)
      sent.on('response', (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('error', reject)
        answer.on('end', () => resolve({ answer, body: Buffer.concat(chunks) }))
      })
      sent.end(entry.bytes)
    })
  }

  #pipe(entry: WireRequest, incoming: IncomingMessage, response: ServerResponse | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const sent = request(new URL(incoming.url ?? '/', this.#upstream), {
        method: entry.method,
        headers: entry.watch ? withoutCompression(incoming.headers) : incoming.headers,
        agent: this.#agent,
      })
      const watching: OpenWatch | undefined = entry.watch && response ? openWatch(entry, response) : undefined
      if (watching !== undefined) this.#watches.add(watching)
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
        if (watching !== undefined) {
          watching.answer = answer
          answer.pipe(watching.delivered)
        } else if (entry.method === 'GET' && entry.name === undefined) {
          const list = new DeliveredObjects()
          this.#lists.set(entry.resource, [...(this.#lists.get(entry.resource) ?? []), list])
          answer.pipe(list).pipe(response)
        } else answer.pipe(response)
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
      ...resourcePathOf(url.pathname),
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

function openWatch(request: WireRequest, response: ServerResponse): OpenWatch {
  const delivered = new DeliveredObjects()
  delivered.pipe(response)
  return { request, response, answer: undefined, delivered }
}

/**
 * Asks for a watch without compression, because the gate looks for objects in its bytes. From Kubernetes 1.37 on, the API
 * server compresses a watch that sends the existing objects, if the client accepts it.
 */
function withoutCompression({ 'accept-encoding': _, ...headers }: IncomingHttpHeaders): IncomingHttpHeaders {
  return headers
}

/** Returns a fault that delays requests until `release` is called. */
export function hold(): { readonly fault: Fault; release(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { fault: { kind: 'wait', for: promise }, release: () => resolve() }
}

/** Returns a fault that delays a request by this time. */
export function late(byMs: number): Fault {
  return { kind: 'wait', for: pause(byMs) }
}

/** Starts a `Gate` in front of a cluster and adds it to `gates`. The caller closes the gate. */
export async function openGate(
  { url, ca, certificate }: Omit<GateOptions, 'upstream' | 'observer'> & { readonly url: string },
  gates: Gate[],
  observer?: WriteObserver,
): Promise<Gate> {
  const gate = new Gate({ upstream: url, ca, certificate, observer })
  gates.push(gate)
  await gate.open()
  return gate
}

/** Returns an answer with these bytes as its body. */
export function raw(code: number, bytes: string, headers?: Record<string, string>): Fault {
  return { kind: 'raw', code, bytes, ...(headers && { headers }) }
}

/** Returns an error answer with a Status object, as the API server sends it. */
export function refusal(code: number, reason: string, message: string): AnswerFault {
  const body = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code }
  return { kind: 'answer', code, body }
}

export function retryAfter(after: number | string, answer: AnswerFault): AnswerFault {
  return { ...answer, headers: { 'retry-after': String(after) } }
}

export function tooMany(after: number | string): AnswerFault {
  return retryAfter(after, refusal(429, 'TooManyRequests', 'Too many requests, please try again later.'))
}

/** Returns the value in the request's body at this path of keys. */
export function partOf(request: WireRequest | undefined, ...keys: readonly string[]): unknown {
  let part: unknown = request?.body
  for (const key of keys) part = typeof part === 'object' && part !== null ? Reflect.get(part, key) : undefined
  return part
}

function isOf(verb: string, { method, watch }: WireRequest): boolean {
  if (verb === 'READ') return method === 'GET'
  if (verb === 'WRITE') return method !== 'GET'
  return verb === '*' || verb === (watch ? 'WATCH' : method)
}

interface ResourcePath {
  readonly resource: string
  readonly namespace: string | undefined
  readonly name: string | undefined
}

/** Splits a path: `/apis/storage.k8s.io/v1/volumeattachments/a/status` has the resource `volumeattachments/status`. */
function resourcePathOf(path: string): ResourcePath {
  const segments = path.split('/').slice(1).map(decodeURIComponent)
  const inGroup = segments[0] === 'apis' ? segments.slice(3) : []
  const rest = segments[0] === 'api' ? segments.slice(2) : inGroup
  const namespace = rest[0] === 'namespaces' && rest.length > 2 ? rest[1] : undefined
  const [plural = '', name, subresource] = namespace === undefined ? rest : rest.slice(2)
  return { resource: subresource === undefined ? plural : `${plural}/${subresource}`, namespace, name }
}

function jsonOf(bytes: Buffer): object | undefined {
  if (bytes.length === 0 || (bytes[0] !== 0x7b && bytes[0] !== 0x5b)) return undefined
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}
