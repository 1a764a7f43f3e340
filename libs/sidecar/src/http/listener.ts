import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import type { Server as SecureServer } from 'node:https'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { type Clock, systemClock, systemCodeOf, toError } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import { ConnectionLimit } from './connection-limit.ts'
import { listenError, parseListenAddress } from './listen-address.ts'
import { answerOneByOne, connectionOf } from './request-gate.ts'

export interface Reply {
  readonly status: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
  readonly compressible?: boolean
}

/** Those who get the same reply share its bytes, so a route that is costly gives one to all who ask at a time. */
const plainBytes = new WeakMap<Reply, Buffer>()
const zippedBytes = new WeakMap<Reply, Promise<Buffer>>()

export interface Asked {
  readonly query: URLSearchParams
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
}

/** What answers a path; a path without an entry is not found. */
export type Routes = ReadonlyMap<string, (asked: Asked) => Reply | Promise<Reply>>

/** Decides whether a request for a path is answered. Returns what refuses it. */
export type Guard = (request: IncomingMessage, path: string) => Promise<Reply | undefined>

/** Makes the server that speaks TLS. */
export type SecureFactory = (options: ServerOptions, answer: RequestListener) => SecureServer

export interface ListenOptions {
  /** As Go writes it: `:8080`, `0.0.0.0:3303`, `[::1]:80`. */
  readonly address: string
  readonly routes: Routes
  readonly log: Logger
  /** Absent: plain HTTP. */
  readonly secure?: SecureFactory | undefined
  /** Absent: all clients are answered. */
  readonly guard?: Guard | undefined
  /** How long an answer may take to begin. */
  readonly idleMs?: number
  readonly clock?: Clock
}

export interface HttpServer {
  /** Where it listens; the one that was chosen when the address asks for port 0. */
  readonly port: number
  /** Resolves if the server ends by itself, which it never should. */
  readonly failed: Promise<Error>
  /** Ends open connections too. */
  close(): Promise<void>
}

/** Scrapers and probes are few and quick. What a slow, silent or foul client can hold, and for how long, is small. */
const LIMITS = {
  maxHeaderSize: 8 * 1024,
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 60_000,
  connectionsCheckingInterval: 5_000,
}
/** A connection on which nothing moves is closed, and with it an answer that no client reads. */
const IDLE_SOCKET_MS = 30_000

/** Resolves once it listens; rejects with a ListenError, which has the message of Go, when it cannot. */
export async function listenHttp(options: ListenOptions): Promise<HttpServer> {
  const { address, routes, log, secure, guard, idleMs = IDLE_SOCKET_MS, clock = systemClock } = options
  const { host, port } = parseListenAddress(address)
  const respond: RequestListener = (request, response) => {
    answer({ routes, guard, limit }, request, response).catch((error: unknown) => {
      log.error(error, 'HTTP request failed', { path: request.url })
      response.destroy()
    })
  }
  const server = secure === undefined ? createServer(LIMITS, respond) : secure(LIMITS, respond)
  server.on('checkExpectation', respond)
  server.timeout = idleMs
  answerOneByOne(server, clock)
  const limit = new ConnectionLimit(server, clock)
  try {
    const opened = once(server, 'listening')
    server.listen({ port, host })
    await opened
  } catch (error) {
    throw listenError(address, systemCodeOf(error), error)
  }
  const failed = new Promise<Error>((resolve) => server.once('error', (error) => resolve(toError(error))))
  return { port: portOf(server, port), failed, close: () => close(server, limit) }
}

function portOf(server: Server | SecureServer, asked: number): number {
  const bound = server.address()
  return bound !== null && typeof bound === 'object' ? bound.port : asked
}

/** Node's own `closeAllConnections` leaves those alone that shake hands. */
function close(server: Server | SecureServer, limit: ConnectionLimit): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    limit.closeAll()
  })
}

export const PLAIN = { 'Content-Type': 'text/plain; charset=utf-8' }
/** What Go's own error replies carry. */
export const ERROR_HEADERS = { ...PLAIN, 'X-Content-Type-Options': 'nosniff' }
const NOT_FOUND: Reply = { status: 404, body: '404 page not found\n', headers: ERROR_HEADERS }
const NO_VERSION: Reply = {
  status: 400,
  body: 'a request names its version of HTTP\n',
  headers: { ...ERROR_HEADERS, Connection: 'close' },
}
const UNEXPECTED: Reply = { status: 417, body: '' }

interface Answering extends Pick<ListenOptions, 'routes' | 'guard'> {
  readonly limit: ConnectionLimit
}

async function answer(options: Answering, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const reply = await replyTo(options, request, response)
  const zipped = reply.compressible === true && acceptsGzip(request.headers['accept-encoding'])
  const plain = bytesOf(reply)
  options.limit.weigh(request, plain.length)
  const body = zipped ? await zip(reply, plain) : plain
  if (zipped) options.limit.weigh(request, body.length)
  // A body is never wanted: close instead of reading it to its end.
  if (hasBody(request)) response.setHeader('Connection', 'close')
  if (zipped) response.setHeader('Content-Encoding', 'gzip')
  response.writeHead(reply.status, { ...reply.headers, 'Content-Length': body.length })
  response.end(body)
}

async function replyTo(
  { routes, guard }: Answering,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Reply> {
  if (request.httpVersionMajor === 0) return NO_VERSION
  if (!/^(?:100-continue)?$/i.test(request.headers.expect ?? '')) return UNEXPECTED
  const [, path = '', query = ''] = /^([^?#]*)\??([^#]*)/.exec(request.url ?? '') ?? []
  return (await guard?.(request, path)) ?? (await routes.get(path)?.(askedBy(request, response, query))) ?? NOT_FOUND
}

function bytesOf(reply: Reply): Buffer {
  const bytes = plainBytes.get(reply) ?? Buffer.from(reply.body)
  plainBytes.set(reply, bytes)
  return bytes
}

function zip(reply: Reply, plain: Buffer): Promise<Buffer> {
  const bytes = zippedBytes.get(reply) ?? promisify(gzip)(plain)
  zippedBytes.set(reply, bytes)
  return bytes
}

/** Made when a route looks at it, which most do not. */
function askedBy(request: IncomingMessage, response: ServerResponse, query: string): Asked {
  return {
    get query() {
      return new URLSearchParams(query)
    },
    get signal() {
      const gone = new AbortController()
      const leave = (): void => gone.abort()
      const connection = connectionOf(request)
      connection.once('end', leave)
      response.once('close', () => {
        // The connection may serve many more requests.
        connection.off('end', leave)
        leave()
      })
      return gone.signal
    },
  }
}

function acceptsGzip(accepted: string | string[] | undefined): boolean {
  return String(accepted ?? '')
    .split(',')
    .some((part) => /^\s*(?:gzip|\*)\s*(?:$|;(?!\s*q=0(?:\.0*)?\s*$))/i.test(part))
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
