import { METRICS_CONTENT_TYPE, type Metrics, processStartSeconds } from '@csi-sidecars/telemetry'
import { ListenError } from './listen-address.ts'
import {
  type EndpointReply,
  type EndpointRequest,
  ERROR_HEADERS,
  type HttpServer,
  type ListenOptions,
  listenHttp,
  PLAIN,
  type Routes,
} from './listener.ts'

/** The health check of a path, run for each request. Returns a reason for each problem, or an empty list if healthy. */
export type EndpointCheck = () => readonly string[] | Promise<readonly string[]>

/** The checks behind the health paths; a path without a check is not served. */
export interface HealthChecks {
  /** The check of /healthz/leader-election, only with leader election. Fails if the lease was not renewed in time. */
  readonly leaderElection?: EndpointCheck
  /** The check of /livez. It fails if the process should be restarted. */
  readonly live?: EndpointCheck
  /** The check of /readyz. It fails while the process is not ready to work. A standby with filled caches is ready. */
  readonly ready?: EndpointCheck
}

/** The paths of one HTTP server. Only the metrics are always served. */
export interface HttpServerOptions extends Omit<ListenOptions, 'routes'> {
  readonly metricsPath: string
  readonly metrics: Metrics
  /** The health checks. Absent with --metrics-address, which serves only metrics. */
  readonly health?: HealthChecks
  /** Answers /debug/stuck. If absent, the path is not served. */
  readonly debugStuck?: (query: URLSearchParams) => Promise<EndpointReply>
  /** Answers /debug/unreferenced. If absent, the path is not served. */
  readonly debugUnreferenced?: () => Promise<EndpointReply>
  /** True if /debug/pprof/ reports that there are no profiles. Default: false. */
  readonly profilesPage?: boolean
}

/** Starts the HTTP server. If it cannot listen, rejects with a ListenError that has Go's message. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { metricsPath } = options
  if (!metricsPath.startsWith('/')) throw new ListenError(`metrics path ${metricsPath} does not begin with a slash`)
  return await listenHttp({ ...options, routes: routesOf(options) })
}

const PROFILES_PAGE = 'This process has no profiles of Go.\n'

function routesOf(options: HttpServerOptions): Routes {
  const { metricsPath, metrics, health = {}, debugStuck, debugUnreferenced, profilesPage } = options
  const { leaderElection, live, ready } = health
  const routes = new Map<string, (asked: EndpointRequest) => EndpointReply | Promise<EndpointReply>>()
  if (live !== undefined) routes.set('/livez', async () => healthReply('livez', await live()))
  if (ready !== undefined) routes.set('/readyz', async () => healthReply('readyz', await ready()))
  if (leaderElection !== undefined) {
    routes.set('/healthz/leader-election', async () => leaderElectionReply(await leaderElection()))
  }
  if (debugStuck !== undefined) routes.set('/debug/stuck', ({ query }) => debugStuck(query))
  if (debugUnreferenced !== undefined) routes.set('/debug/unreferenced', debugUnreferenced)
  if (profilesPage === true) routes.set('/debug/pprof/', () => ({ status: 200, body: PROFILES_PAGE, headers: PLAIN }))
  routes.set(metricsPath, metricsReply(metrics))
  return routes
}

function healthReply(name: string, reasons: readonly string[]): EndpointReply {
  if (reasons.length === 0) return { status: 200, body: 'ok', headers: PLAIN }
  const lines = reasons.map((reason) => `- ${reason}\n`).join('')
  return { status: 503, body: `${name} check failed:\n${lines}`, headers: ERROR_HEADERS }
}

function leaderElectionReply(reasons: readonly string[]): EndpointReply {
  if (reasons.length === 0) return { status: 200, body: 'ok', headers: PLAIN }
  return { status: 500, body: `internal server error: ${reasons.join(', ')}\n`, headers: ERROR_HEADERS }
}

export function metricsReply(metrics: Metrics): () => Promise<EndpointReply> {
  const headers = {
    'Content-Type': METRICS_CONTENT_TYPE,
    'Process-Start-Time-Unix': String(Math.floor(processStartSeconds())),
  }
  return async () => ({ status: 200, body: await metrics.text(), headers, compressible: true })
}
