import { abortable, CancelledError, type Clock, messageOf, toError } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import { ApiError } from './api-error.ts'
import type { ClusterConfig } from './config/cluster-config.ts'
import type { Authorization } from './config/credentials.ts'
import type { FlowOptions } from './flow/flow-options.ts'
import type { FlowOutcome } from './flow/policy.ts'
import { Connection } from './http/connection.ts'
import type { Dial } from './http/dial.ts'
import { ExchangeError, exchange } from './http/exchange.ts'
import { exchangeError } from './http/network-error.ts'
import { openStream, type StreamSink } from './http/stream.ts'
import { createLanes, type Lanes, type RequestLane } from './lane.ts'
import { errorOfReply } from './reply-error.ts'
import type { ApiRequest } from './request.ts'
import { RequestWriter } from './request-text.ts'
import type { RestMetrics } from './rest-metrics.ts'

export interface TransportOptions {
  readonly config: ClusterConfig
  readonly dial: Dial
  readonly flow: FlowOptions
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: RestMetrics
  readonly userAgent: string
}

/** The API server's own limit for a request that is no watch. */
const TIMEOUT_MS = 60_000
/** A watch answers with its head at once; some proxies hold it back until the first event or bookmark. */
const STREAM_HEAD_MS = 90_000
/** How often one call is sent again because the server asked for patience. */
const MAX_THROTTLED = 10
/** For a 429 that does not say how long. */
const DEFAULT_RETRY_AFTER_MS = 1000

/** What the server said, whether it is a success or not. */
interface Answer {
  readonly status: number
  readonly body: string
  readonly contentType: string | undefined
  readonly retryAfterMs: number | undefined
}

/** One call, and what it has been through. */
class Call {
  readonly request: ApiRequest
  readonly lane: RequestLane
  authorization: Authorization
  attempts = 0
  throttled = 0
  reconnected = false
  reauthorized = false

  constructor(request: ApiRequest, lane: RequestLane) {
    this.request = request
    this.lane = lane
  }

  get signal(): AbortSignal | undefined {
    return this.request.options?.signal
  }
}

/**
 * Sends requests: credentials, flow control, connection, time limit, and the retries that the server asks for.
 * Everything that goes wrong comes out as ApiError, except a call that its signal, its guard or `close` ended.
 */
export class Transport {
  readonly #options: TransportOptions
  readonly #origin: string
  readonly #lanes: Lanes
  readonly #writer: RequestWriter
  readonly #streams = new Set<Connection>()
  #closed: CancelledError | undefined

  constructor(options: TransportOptions) {
    this.#options = options
    this.#origin = options.config.origin + options.config.basePath
    this.#lanes = createLanes(options.flow, options)
    this.#writer = new RequestWriter(options.config, options.userAgent)
  }

  /** Resolves with the body of a success. */
  async send(request: ApiRequest): Promise<string> {
    const call = new Call(request, this.#lanes[request.options?.lane ?? 'work'])
    for (;;) {
      await this.#authorize(call)
      const answer = await this.#attempt(call)
      if (answer === undefined) continue
      if (answer.status < 300) return answer.body
      await this.#recover(call, answer)
    }
  }

  /**
   * Opens a stream: resolves when its body is on its way to `sink`. The returned connection is the caller's to end.
   * Streams are not subject to the rate; they do wait while the server wants to be left alone.
   */
  async open(request: ApiRequest, sink: StreamSink): Promise<Connection> {
    const call = new Call(request, this.#lanes.work)
    for (;;) {
      await this.#authorize(call)
      await call.lane.unpaused(call.signal)
      const opened = await this.#openOnce(call, sink)
      if (opened instanceof Connection) return opened
      if (await this.#reauthorized(call, opened)) continue
      if (opened.retryAfterMs !== undefined) call.lane.pause(opened.retryAfterMs)
      throw this.#refusal(call, opened)
    }
  }

  /** Ends every connection; calls and streams that run fail. */
  close(): void {
    this.#closed = new CancelledError('the client is closed')
    this.#lanes.work.pool.close()
    this.#lanes.lease.pool.close()
    for (const connection of this.#streams) connection.destroy(this.#closed)
  }

  async #authorize(call: Call): Promise<void> {
    try {
      const authorization = this.#options.config.credentials.authorization()
      call.authorization =
        authorization instanceof Promise ? await abortable(authorization, call.signal) : authorization
    } catch (error) {
      throw this.#unreachable(call, error)
    }
    call.signal?.throwIfAborted()
  }

  /** Resolves with undefined when a kept connection was closed already and the request should be sent on another. */
  async #attempt(call: Call): Promise<Answer | undefined> {
    const entered = call.lane.enter(call.request.resource?.group ?? '', call.signal)
    const permit = entered instanceof Promise ? await entered : entered
    this.#options.metrics.waited(call.request.method, permit.waitedMs)
    let outcome: FlowOutcome = 'done'
    try {
      const connection = await this.#connection(call)
      const answer = await this.#exchange(call, connection)
      if (answer?.status === 429) outcome = 'throttled'
      return answer
    } finally {
      permit.end(outcome)
    }
  }

  /** A connection, at a moment when the lane is not paused: the wait for one may have been long. */
  async #connection(call: Call): Promise<Connection> {
    for (;;) {
      let connection: Connection
      try {
        const acquired = call.lane.pool.acquire(call.signal)
        connection = acquired instanceof Promise ? await acquired : acquired
      } catch (error) {
        this.#count(call, '<error>')
        throw this.#unreachable(call, error)
      }
      if (!call.lane.paused) return connection
      call.lane.pool.release(connection)
      await call.lane.unpaused(call.signal)
    }
  }

  async #exchange(call: Call, connection: Connection): Promise<Answer | undefined> {
    const { clock, metrics } = this.#options
    const { method, options } = call.request
    const reused = connection.exchanges > 0
    const startedAt = clock.monotonic()
    try {
      const text = this.#ready(call)
      const limits = { clock, timeoutMs: options?.timeoutMs ?? TIMEOUT_MS, signal: call.signal }
      const { head, body, bytes } = await exchange(connection, text, limits)
      metrics.exchanged(method, clock.monotonic() - startedAt, { sent: sizeOf(call.request), received: bytes })
      this.#count(call, head.status)
      return answerOf(head, body)
    } catch (error) {
      if (!(error instanceof ExchangeError)) throw error
      metrics.exchanged(method, clock.monotonic() - startedAt, { sent: sizeOf(call.request), received: undefined })
      this.#count(call, '<error>')
      // A read may be repeated. A write that met a closed connection may have been carried out before it closed.
      if (!reused || error.answered || method !== 'GET' || call.reconnected) throw this.#unreachable(call, error.cause)
      call.reconnected = true
      return undefined
    } finally {
      call.lane.pool.release(connection)
    }
  }

  /** The request's bytes, after the last word of whoever may forbid it. Nothing waits between this and the socket. */
  #ready(call: Call): string {
    const text = this.#writer.write(call.request, call.authorization)
    call.signal?.throwIfAborted()
    call.request.options?.beforeSend?.()
    return text
  }

  /** Prepares another attempt after a refusal that allows for one; throws the refusal otherwise. */
  async #recover(call: Call, answer: Answer): Promise<void> {
    if (await this.#reauthorized(call, answer)) return
    if (answer.retryAfterMs === undefined || call.throttled === MAX_THROTTLED) throw this.#refusal(call, answer)
    call.throttled += 1
    const { path } = call.request
    const delay = `${answer.retryAfterMs / 1000}s`
    this.#options.log.v(4)?.info('Got a Retry-After response', { delay, attempt: call.throttled, url: path })
    call.lane.pause(answer.retryAfterMs)
  }

  async #reauthorized(call: Call, answer: Answer): Promise<boolean> {
    if (answer.status !== 401 || call.reauthorized) return false
    call.reauthorized = true
    const { credentials } = this.#options.config
    try {
      if (!(await abortable(credentials.refused(call.authorization), call.signal))) return false
    } catch (error) {
      throw this.#unreachable(call, error)
    }
    if (credentials.certificate() !== undefined) call.lane.pool.renew()
    return true
  }

  async #openOnce(call: Call, sink: StreamSink): Promise<Connection | Answer> {
    const { clock, dial } = this.#options
    const connection = await this.#streamConnection(call, dial)
    try {
      const limits = { clock, timeoutMs: STREAM_HEAD_MS, signal: call.signal }
      const opened = await openStream(connection, this.#ready(call), sink, limits)
      this.#count(call, opened.head.status)
      if (opened.kind === 'streaming') return connection
      connection.destroy(new CancelledError('the stream was refused'))
      return answerOf(opened.head, opened.body)
    } catch (error) {
      connection.destroy(new CancelledError('the stream was not opened'))
      if (!(error instanceof ExchangeError)) throw error
      this.#count(call, '<error>')
      throw this.#unreachable(call, error.cause)
    }
  }

  async #streamConnection(call: Call, dial: Dial): Promise<Connection> {
    try {
      if (this.#closed !== undefined) throw this.#closed
      const connection = new Connection(await dial(call.signal), (lost) => this.#streams.delete(lost))
      this.#streams.add(connection)
      return connection
    } catch (error) {
      this.#count(call, '<error>')
      throw this.#unreachable(call, error)
    }
  }

  #count(call: Call, result: number | '<error>'): void {
    this.#options.metrics.attempted(call.request.method, result, call.attempts)
    call.attempts += 1
  }

  #refusal(call: Call, answer: Answer): ApiError {
    return errorOfReply(answer, call.request)
  }

  /** `Get "https://10.0.0.1:443/api/v1/pods": dial tcp 10.0.0.1:443: connect: connection refused`. */
  #unreachable({ request, signal }: Call, thrown: unknown): unknown {
    if (signal?.aborted) return signal.reason
    if (thrown instanceof CancelledError) return thrown
    const verb = request.method.charAt(0) + request.method.slice(1).toLowerCase()
    const cause = exchangeError(toError(thrown))
    const message = `${verb} "${this.#origin}${request.path}": ${messageOf(cause)}`
    return new ApiError({ code: 0, reason: '', message, cause })
  }
}

function answerOf(head: { status: number; header(name: string): string | undefined }, body: string): Answer {
  return {
    status: head.status,
    body,
    contentType: head.status < 300 ? undefined : head.header('content-type'),
    retryAfterMs: retryAfterMs(head.status, () => head.header('retry-after')),
  }
}

/** How long the server wants to be left alone; undefined where trying again is not for the transport to decide. */
function retryAfterMs(status: number, header: () => string | undefined): number | undefined {
  if (status !== 429 && status < 500) return undefined
  const seconds = header()
  if (seconds !== undefined && /^\d{1,9}$/.test(seconds)) return Number(seconds) * 1000
  return status === 429 ? DEFAULT_RETRY_AFTER_MS : undefined
}

function sizeOf(request: ApiRequest): number {
  return request.body === undefined ? 0 : Buffer.byteLength(request.body.text)
}
