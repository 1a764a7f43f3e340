import { abortable, CancelledError, type Clock } from '@csi-sidecars/base'
import type { Dial, HttpConnection, StreamSink } from '@csi-sidecars/http1'
import type { Logger, Tracer } from '@csi-sidecars/telemetry'
import type { ApiRequest } from '../api/client.ts'
import { errorOfReply } from '../codec/reply-error.ts'
import type { ClusterConfig } from '../config/cluster-config.ts'
import type { Permit } from '../flow/flow-gate.ts'
import type { FlowOptions, FlowOutcome } from '../flow/policy.ts'
import { NetworkPathCheck, type NetworkPathUser } from '../path-check/path-check.ts'
import { type ApiAnswer, ApiCall } from './call.ts'
import { Exchanges } from './exchanges.ts'
import { createLanes, type RequestLanes } from './lane.ts'
import type { MissingPermissions } from './missing-permissions.ts'
import { Refusals, type ServerLimits } from './refusals.ts'
import type { RestMetrics } from './rest-metrics.ts'
import { traced } from './traced.ts'

/** The parts of a client that its requests share. */
export interface TransportOptions {
  readonly config: ClusterConfig
  readonly dial: Dial
  readonly flow: FlowOptions
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: RestMetrics
  readonly missing: MissingPermissions
  readonly userAgent: string
  readonly tracer?: Tracer | undefined
}

/** The maximum number of retries of one call after answers with a Retry-After. */
const MAX_RETRIES = 10
/** A call is retried for at least this time after its first 429, because other clients may cause the 429. */
const MIN_RETRY_PERIOD_MS = 60_000
/** The longest time for which requests of higher priority may delay a request of low priority. */
const MAX_LOW_PRIORITY_WAIT_MS = 10_000

/**
 * Sends requests, with credentials, flow control, connections, and the retries that the server asks for. Throws
 * ApiError, unless the signal, `beforeSend` or `close` has ended the call.
 */
export class Transport {
  readonly #options: TransportOptions
  readonly #exchanges: Exchanges
  readonly #lanes: RequestLanes
  readonly #streams = new Set<HttpConnection>()
  readonly #pathCheck: NetworkPathCheck
  readonly #pathUser: NetworkPathUser
  readonly #refusals: Refusals
  #closed: CancelledError | undefined

  constructor(options: TransportOptions) {
    this.#options = options
    this.#lanes = createLanes(options.flow, options)
    this.#refusals = new Refusals({ ...options, concurrencyLimit: this.#lanes.concurrencyLimit })
    this.#exchanges = new Exchanges({
      ...options,
      onAnswered: (call) => {
        if (call.lane === this.#lanes.lease) this.#pathCheck.recordLeaseAnswer()
      },
      onUnanswered: (call, sentAt) => {
        if (call.lane === this.#lanes.lease) this.#pathCheck.closeSilentConnections(sentAt)
      },
    })
    // All clients of a process share the check for dead connections: one may renew the lease while another watches.
    this.#pathCheck = options.config.path ?? new NetworkPathCheck(options)
    this.#pathUser = {
      streams: this.#streams,
      connections: () => this.#connections(),
      openConnection: (signal, onLost) => this.#exchanges.dial(signal, onLost),
      readVersion: (connection, signal) => this.#readVersion(connection, signal),
    }
    this.#pathCheck.join(this.#pathUser)
  }

  get log(): Logger {
    return this.#options.log
  }

  get limits(): ServerLimits {
    return this.#refusals.limits
  }

  /** Sends a request. Resolves with the answer's body. Throws the error of a refusal. */
  async send(request: ApiRequest): Promise<string> {
    const { body } = await this.fetch(request)
    return body.toString('utf8')
  }

  /** Sends a request. Resolves with the answer. Throws the error of a refusal. */
  async fetch(request: ApiRequest): Promise<ApiAnswer> {
    const call = new ApiCall(request, this.#lanes[request.options?.lane ?? 'work'])
    const { tracer } = this.#options
    return await (tracer === undefined ? this.#deliver(call) : traced(tracer, call, () => this.#deliver(call)))
  }

  async #deliver(call: ApiCall): Promise<ApiAnswer> {
    for (;;) {
      await this.#authorize(call)
      const answer = await this.#attempt(call)
      if (answer === undefined) continue
      if (answer.status < 300) {
        this.#options.missing.recordSuccess(call.request)
        return answer
      }
      const waitMs = await this.#recover(call, answer)
      // The flow control waits after a 429, and ends the wait early if other requests succeed.
      if (answer.status === 429) call.waitBeforeRetryMs = waitMs
      else await this.#wait(waitMs, call)
    }
  }

  /**
   * Opens a stream. Resolves when `sink` begins to receive its body. The caller closes the returned connection. The
   * flow control does not limit streams, because they last for minutes. A refused stream waits like other requests.
   */
  async open(request: ApiRequest, sink: StreamSink): Promise<HttpConnection> {
    const call = new ApiCall(request, this.#lanes.work)
    for (;;) {
      await this.#authorize(call)
      const connection = await this.#streamConnection(call)
      const opened = await this.#exchanges.open(call, connection, sink)
      if (opened === 'streaming') {
        this.#options.missing.recordSuccess(request)
        return connection
      }
      await this.#wait(await this.#recover(call, opened), call)
    }
  }

  /** Closes all connections. Running calls and streams fail. */
  close(): void {
    this.#closed = new CancelledError('the client is closed')
    this.#lanes.work.pool.close()
    this.#lanes.lease.pool.close()
    for (const connection of this.#streams) connection.destroy(this.#closed)
    this.#pathCheck.leave(this.#pathUser, this.#closed)
    this.#refusals.close()
  }

  async #authorize(call: ApiCall): Promise<void> {
    try {
      const authorization = this.#options.config.credentials.authorization()
      call.authorization =
        authorization instanceof Promise ? await abortable(authorization, call.signal) : authorization
    } catch (error) {
      throw this.#exchanges.unsentError(call, error)
    }
    call.signal?.throwIfAborted()
  }

  /** Sends a request once. Resolves with undefined if a reused connection was closed: the caller sends it again. */
  async #attempt(call: ApiCall): Promise<ApiAnswer | undefined> {
    const entered = this.#enterFlow(call)
    const permit = entered instanceof Promise ? await entered : entered
    this.#options.metrics.recordWait(call.request.method, permit.waitedMs)
    let outcome: FlowOutcome = 'done'
    let connection: HttpConnection | undefined
    try {
      connection = await this.#connection(call)
      const answer = await this.#exchanges.send(call, connection)
      if (answer?.status === 429) outcome = flowOutcomeOf(call, answer)
      return answer
    } finally {
      if (connection !== undefined) call.lane.pool.release(connection)
      permit.end(outcome)
    }
  }

  #enterFlow(call: ApiCall): Permit | Promise<Permit> {
    const { request, lane, signal, waitBeforeRetryMs } = call
    const group = request.resource?.group ?? ''
    call.waitBeforeRetryMs = undefined
    if (waitBeforeRetryMs !== undefined) return lane.enterAgain(group, waitBeforeRetryMs, signal)
    const { priority } = request.options ?? {}
    if (priority === undefined) return lane.enter(group, signal)
    return lane.enterInBackground(group, signal, priority === 'low' ? MAX_LOW_PRIORITY_WAIT_MS : undefined)
  }

  async #connection(call: ApiCall): Promise<HttpConnection> {
    const { pool } = call.lane
    try {
      const acquired = call.request.options?.newConnection ? pool.open(call.signal) : pool.acquire(call.signal)
      return acquired instanceof Promise ? await acquired : acquired
    } catch (error) {
      throw this.#exchanges.countUnconnected(call, error)
    }
  }

  /** Resolves with the milliseconds before the next attempt. Throws a final refusal. */
  async #recover(call: ApiCall, answer: ApiAnswer): Promise<number> {
    if (await this.#reauthorize(call, answer)) return 0
    const { retryAfterMs } = answer
    if (retryAfterMs !== undefined) this.#refusals.recordRefusal(call, answer)
    if (retryAfterMs === undefined || !this.#mayRetry(call, answer)) {
      const error = errorOfReply(answer, call.request)
      if (answer.status === 403) this.#options.missing.recordRefusal(call.request, error)
      throw error
    }
    call.refusals += 1
    call.refusedAt ??= this.#options.clock.monotonic()
    return retryAfterMs
  }

  async #wait(ms: number, { signal }: ApiCall): Promise<void> {
    if (ms > 0) await this.#options.clock.sleep(ms, signal)
  }

  #mayRetry(call: ApiCall, { status, retryAfterMs = 0 }: ApiAnswer): boolean {
    // The caller decides about longer waits, because it knows better how to use the time.
    if (retryAfterMs > call.lane.maxWaitMs || call.request.options?.priority === 'background') return false
    if (call.refusals < MAX_RETRIES) return true
    return (
      status === 429 &&
      retryAfterMs > 0 &&
      this.#options.clock.monotonic() - (call.refusedAt ?? 0) < MIN_RETRY_PERIOD_MS
    )
  }

  async #reauthorize(call: ApiCall, answer: ApiAnswer): Promise<boolean> {
    if (answer.status !== 401 || call.hasReauthorized) return false
    call.hasReauthorized = true
    const { credentials } = this.#options.config
    try {
      if (!(await abortable(credentials.replaceRefused(call.authorization), call.signal))) return false
    } catch (error) {
      throw this.#exchanges.unsentError(call, error)
    }
    if (credentials.certificate() !== undefined) call.lane.pool.destroyIdle()
    return true
  }

  async #streamConnection(call: ApiCall): Promise<HttpConnection> {
    try {
      if (this.#closed !== undefined) throw this.#closed
      const connection = await this.#exchanges.dial(call.signal, (lost) => {
        this.#streams.delete(lost)
        this.#pathCheck.onStreamClosed()
      })
      this.#streams.add(connection)
      this.#pathCheck.onStreamOpened()
      return connection
    } catch (error) {
      throw this.#exchanges.countUnconnected(call, error)
    }
  }

  /** Sends a small request that every API server answers to every client. */
  async #readVersion(connection: HttpConnection, signal: AbortSignal): Promise<boolean> {
    const call = new ApiCall({ method: 'GET', path: '/version', options: { signal } }, this.#lanes.work)
    await this.#authorize(call)
    return (await this.#exchanges.send(call, connection)) !== undefined
  }

  *#connections(): Generator<HttpConnection> {
    yield* this.#streams
    yield* this.#lanes.work.pool.connections
    yield* this.#lanes.lease.pool.connections
  }
}

/**
 * Returns the outcome of a 429: `inconclusive` for priority `background`, because the server may limit only such
 * requests.
 */
function flowOutcomeOf({ request, lane }: ApiCall, { retryAfterMs = 0 }: ApiAnswer): FlowOutcome {
  if (request.options?.priority === 'background') return 'inconclusive'
  return { retryAfterMs: Math.min(retryAfterMs, lane.maxWaitMs) }
}
