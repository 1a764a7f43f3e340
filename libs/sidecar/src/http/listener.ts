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
import type { Socket } from 'node:net'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { systemCodeOf, toError } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import { listenError, parseListenAddress } from './listen-address.ts'

/** The answer of one path. The listener compresses a `compressible` body if the client accepts it. */
export interface EndpointReply {
  readonly status: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
  /** Default: false. */
  readonly compressible?: boolean
}

/** A GET or HEAD request for one path. */
export interface EndpointRequest {
  readonly query: URLSearchParams
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
}

/** The handlers by path. A path without a handler is not found. */
export type Routes = ReadonlyMap<string, (asked: EndpointRequest) => EndpointReply | Promise<EndpointReply>>

/** Returns the refusal of a request for a path, or undefined if the request may be answered. */
export type EndpointGuard = (request: IncomingMessage, path: string) => Promise<EndpointReply | undefined>

/** Creates the HTTPS server. */
export type SecureFactory = (options: ServerOptions, answer: RequestListener) => SecureServer

/** The address and the limits of an HTTP server. */
export interface ListenOptions {
  /** An address in the notation of Go: `:8080`, `0.0.0.0:3303`, `[::1]:80`. */
  readonly address: string
  readonly routes: Routes
  readonly log: Logger
  /** Creates the HTTPS server. Absent: the server uses plain HTTP. */
  readonly secure?: SecureFactory | undefined
  /** Decides whether a request is answered. Absent: every request is answered. */
  readonly guard?: EndpointGuard | undefined
}

/** An HTTP server that listens. */
export interface HttpServer {
  /** The port of the server, which the system chooses if the address has 0. */
  readonly port: number
  /** Resolves if the server ends by itself, which it never should. */
  readonly failed: Promise<Error>
  /** Closes the server and its open connections. */
  close(): Promise<void>
}

/** The limits of the server, whose only clients are a few scrapers and probes. */
const LIMITS = {
  maxHeaderSize: 8 * 1024,
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
}
/** The server closes connections beyond this number at once. */
const MAX_CONNECTIONS = 32
/** The server closes a connection after this time without data. This also ends answers that no client reads. */
const IDLE_SOCKET_MS = 30_000

/** Starts an HTTP server. If it cannot listen, rejects with a ListenError that has Go's message. */
export async function listenHttp(options: ListenOptions): Promise<HttpServer> {
  const { address, routes, log, secure, guard } = options
  const { host, port } = parseListenAddress(address)
  const respond: RequestListener = (request, response) => {
    sendAnswer({ routes, guard }, request, response).catch((error: unknown) => {
      log.error(error, 'HTTP request failed', { path: request.url })
      response.destroy()
    })
  }
  const server = secure === undefined ? createServer(LIMITS, respond) : secure(LIMITS, respond)
  server.on('checkExpectation', respond)
  server.timeout = IDLE_SOCKET_MS
  server.maxConnections = MAX_CONNECTIONS
  // Node parses all requests that arrive together, so one client could fill the memory with thousands of answers.
  server.maxRequestsPerSocket = 1
  const connections = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  try {
    const opened = once(server, 'listening')
    server.listen({ port, host })
    await opened
  } catch (error) {
    throw listenError(address, systemCodeOf(error), error)
  }
  const failed = new Promise<Error>((resolve) => server.once('error', (error) => resolve(toError(error))))
  return { port: portOf(server, port), failed, close: () => close(server, connections) }
}

function portOf(server: Server | SecureServer, asked: number): number {
  const localAddress = server.address()
  return localAddress !== null && typeof localAddress === 'object' ? localAddress.port : asked
}

/** `closeAllConnections` of Node does not close connections during their TLS handshake. */
function close(server: Server | SecureServer, connections: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    for (const socket of connections) socket.destroy()
  })
}

export const PLAIN = { 'Content-Type': 'text/plain; charset=utf-8' }
export const ERROR_HEADERS = { ...PLAIN, 'X-Content-Type-Options': 'nosniff' }
const NOT_FOUND: EndpointReply = { status: 404, body: '404 page not found\n', headers: ERROR_HEADERS }
const NO_VERSION: EndpointReply = {
  status: 400,
  body: 'a request names its version of HTTP\n',
  headers: ERROR_HEADERS,
}
const UNEXPECTED: EndpointReply = { status: 417, body: '' }

type Answering = Pick<ListenOptions, 'routes' | 'guard'>

async function sendAnswer(options: Answering, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const reply = await replyTo(options, request, response)
  const zipped = reply.compressible === true && acceptsGzip(request.headers['accept-encoding'])
  const body = zipped ? await promisify(gzip)(reply.body) : Buffer.from(reply.body)
  if (zipped) response.setHeader('Content-Encoding', 'gzip')
  response.writeHead(reply.status, { ...reply.headers, 'Content-Length': body.length })
  response.end(body)
}

async function replyTo(
  { routes, guard }: Answering,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<EndpointReply> {
  if (request.httpVersionMajor === 0) return NO_VERSION
  if (!/^(?:100-continue)?$/i.test(request.headers.expect ?? '')) return UNEXPECTED
  const [, path = '', query = ''] = /^([^?#]*)\??([^#]*)/.exec(request.url ?? '') ?? []
  return (await guard?.(request, path)) ?? (await routes.get(path)?.(endpointRequestOf(response, query))) ?? NOT_FOUND
}

function endpointRequestOf(response: ServerResponse, query: string): EndpointRequest {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  return { query: new URLSearchParams(query), signal: gone.signal }
}

function acceptsGzip(accepted: string | string[] | undefined): boolean {
  return String(accepted ?? '')
    .split(',')
    .some((part) => /^\s*(?:gzip|\*)\s*(?:$|;(?!\s*q=0(?:\.0*)?\s*$))/i.test(part))
}
