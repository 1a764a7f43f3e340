import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { systemCodeOf, toError } from '@csi-sidecars/base'
import { type Logger, METRICS_CONTENT_TYPE, type Metrics, processStartSeconds } from '@csi-sidecars/telemetry'
import { limitConnections } from './connection-limit.ts'
import { ListenError, listenError, parseListenAddress } from './listen-address.ts'

/** Says what is wrong, one reason for each thing; nothing when all is well. Asked at each request. */
export type Check = () => readonly string[]

/** The checks behind the health paths; a path without a check is not served. */
export interface HealthChecks {
  /** /healthz/leader-election, with leader election only: the lease should have been renewed long ago. */
  readonly leaderElection?: Check
  /** /livez: the process should be started anew. */
  readonly live?: Check
  /** /readyz: the process cannot do its work now. A warm standby could. */
  readonly ready?: Check
}

export interface HttpServerOptions {
  /** As Go writes it: `:8080`, `0.0.0.0:3303`, `[::1]:80`. */
  readonly address: string
  readonly metricsPath: string
  readonly metrics: Metrics
  /** Left out with --metrics-address. */
  readonly health?: HealthChecks
  readonly log: Logger
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
/** A connection on which nothing moves is closed, so that an answer that nobody reads is let go. */
const IDLE_SOCKET_MS = 30_000
const MAX_CONNECTIONS = 64

/** Resolves once it listens; rejects with a ListenError, in Go's words, when it cannot. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { address, metricsPath, log } = options
  const { host, port } = parseListenAddress(address)
  if (!metricsPath.startsWith('/')) throw new ListenError(`metrics path ${metricsPath} does not begin with a slash`)
  const routes = routesOf(options)
  const server = createServer(LIMITS, (request, response) => {
    answer(routes, request, response).catch((error: unknown) => {
      log.error(error, 'HTTP request failed', { path: request.url })
      response.destroy()
    })
  })
  server.timeout = IDLE_SOCKET_MS
  limitConnections(server, MAX_CONNECTIONS)
  try {
    const opened = once(server, 'listening')
    server.listen({ port, host })
    await opened
  } catch (error) {
    throw listenError(address, systemCodeOf(error), error)
  }
  const failed = new Promise<Error>((resolve) => server.once('error', (error) => resolve(toError(error))))
  return { port: portOf(server, port), failed, close: () => close(server) }
}

function portOf(server: Server, asked: number): number {
  const bound = server.address()
  return bound !== null && typeof bound === 'object' ? bound.port : asked
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

interface Reply {
  readonly status: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
  readonly compressible?: boolean
}

type Routes = ReadonlyMap<string, () => Reply | Promise<Reply>>

const PLAIN = { 'Content-Type': 'text/plain; charset=utf-8' }
/** What Go's own error replies carry. */
const ERROR_HEADERS = { ...PLAIN, 'X-Content-Type-Options': 'nosniff' }
const NOT_FOUND: Reply = { status: 404, body: '404 page not found\n', headers: ERROR_HEADERS }

function routesOf({ metricsPath, metrics, health = {} }: HttpServerOptions): Routes {
  const { leaderElection, live, ready } = health
  const routes = new Map<string, () => Reply | Promise<Reply>>()
  if (live !== undefined) routes.set('/livez', () => healthReply('livez', live()))
  if (ready !== undefined) routes.set('/readyz', () => healthReply('readyz', ready()))
  if (leaderElection !== undefined) {
    routes.set('/healthz/leader-election', () => leaderElectionReply(leaderElection()))
  }
  routes.set(metricsPath, metricsReply(metrics))
  return routes
}

function healthReply(name: string, reasons: readonly string[]): Reply {
  if (reasons.length === 0) return { status: 200, body: 'ok', headers: PLAIN }
  const lines = reasons.map((reason) => `- ${reason}\n`).join('')
  return { status: 503, body: `${name} check failed:\n${lines}`, headers: ERROR_HEADERS }
}

function leaderElectionReply([reason]: readonly string[]): Reply {
  if (reason === undefined) return { status: 200, body: 'ok', headers: PLAIN }
  return { status: 500, body: `internal server error: ${reason}\n`, headers: ERROR_HEADERS }
}

/** Requests that come while an exposition is being made share it. */
function metricsReply(metrics: Metrics): () => Promise<Reply> {
  const headers = {
    'Content-Type': METRICS_CONTENT_TYPE,
    'Process-Start-Time-Unix': String(Math.floor(processStartSeconds())),
  }
  let exposition: Promise<string> | undefined
  return async () => {
    exposition ??= metrics.text().finally(() => {
      exposition = undefined
    })
    return { status: 200, body: await exposition, headers, compressible: true }
  }
}

async function answer(routes: Routes, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = /^[^?#]*/.exec(request.url ?? '')?.[0] ?? ''
  const reply = (await routes.get(path)?.()) ?? NOT_FOUND
  const zipped = reply.compressible === true && acceptsGzip(request.headers['accept-encoding'])
  const body = zipped ? await promisify(gzip)(reply.body) : Buffer.from(reply.body)
  // A body is never wanted: close instead of reading it to its end.
  if (hasBody(request)) response.setHeader('Connection', 'close')
  if (zipped) response.setHeader('Content-Encoding', 'gzip')
  response.writeHead(reply.status, { ...reply.headers, 'Content-Length': body.length })
  response.end(body)
}

function acceptsGzip(accepted: string | string[] | undefined): boolean {
  return String(accepted ?? '')
    .split(',')
    .some((part) => /^\s*(?:gzip|\*)\s*(?:$|;(?!\s*q=0(?:\.0*)?\s*$))/i.test(part))
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
