import { abortable, CancelledError, type Clock } from '@csi-sidecars/base'
import type { Logger, Tracer } from '@csi-sidecars/telemetry'
import { type Answer, Call } from './call.ts'
import type { ClusterConfig } from './config/cluster-config.ts'
import { Exchanges } from './exchanges.ts'
import type { FlowOptions } from './flow/flow-options.ts'
import type { FlowOutcome } from './flow/policy.ts'
import type { Connection } from './http/connection.ts'
import type { Dial } from './http/dial.ts'
import type { StreamSink } from './http/stream.ts'
import { createLanes, type Lanes } from './lane.ts'
import { PathCheck, type PathUser } from './path-check.ts'
import { errorOfReply } from './reply-error.ts'
import type { ApiRequest } from './request.ts'
import type { RestMetrics } from './rest-metrics.ts'
import { traced } from './traced.ts'

export interface TransportOptions {
  readonly config: ClusterConfig
  readonly dial: Dial
  readonly flow: FlowOptions
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: RestMetrics
  readonly userAgent: string
  readonly tracer?: Tracer | undefined
}

/** How often one call is sent again because the server asked for patience. */
const MAX_THROTTLED = 10
/** From here on a person who wonders why nothing happens is to find the reason in the log. */
const LONG_WAIT_MS = 10_000
/** So long a request of low priority lets others go first. */
const LOW_PRIORITY_MS = 10_000

/**
 * Sends requests: credentials, flow control, connection, and the retries that the server asks for.
 * Everything that goes wrong comes out as ApiError, except a call that its signal, its guard or `close` ended.
 */
export class Transport {
  readonly #options: TransportOptions
  readonly #exchanges: Exchanges
  readonly #lanes: Lanes
  readonly #streams = new Set<Connection>()
  readonly #path: PathCheck
  readonly #user: PathUser
  #closed: CancelledError | undefined

  constructor(options: TransportOptions) {
    this.#options = options
    this.#lanes = createLanes(options.flow, options)
    this.#exchanges = new Exchanges({
      ...options,
      onAnswered: (call) => {
        if (call.lane === this.#lanes.lease) this.#path.leaseAnswered()
      },
      onUnanswered: (call, sentAt) => {
        if (call.lane === this.#lanes.lease) this.#path.unanswered(sentAt)
      },
    })
    // One for all clients of a process: the lease may be renewed by another than the one that watches.
    this.#path = options.config.path ?? new PathCheck(options)
    this.#user = {
      streams: this.#streams,
      connections: () => this.#connections(),
      open: (signal, onLost) => this.#exchanges.dial(signal, onLost),
      read: (connection, signal) => this.#smallRead(connection, signal),
    }
    this.#path.join(this.#user)
  }

  /** Resolves with the text of a success. */
  async send(request: ApiRequest): Promise<string> {
    const { body } = await this.fetch(request)
    return body.toString('utf8')
  }

  /** Resolves with a success. */
  async fetch(request: ApiRequest): Promise<Answer> {
    const call = new Call(request, this.#lanes[request.options?.lane ?? 'work'])
    const { tracer } = this.#options
    return await (tracer === undefined ? this.#deliver(call) : traced(tracer, call, () => this.#deliver(call)))
  }

  async #deliver(call: Call): Promise<Answer> {
    for (;;) {
      await this.#authorize(call)
      const answer = await this.#attempt(call)
      if (answer === undefined) continue
      if (answer.status < 300) return answer
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
      const connection = await this.#streamConnection(call)
      const opened = await this.#exchanges.open(call, connection, sink)
      if (opened === 'streaming') return connection
      if (await this.#reauthorized(call, opened)) continue
      if (opened.retryAfterMs !== undefined) this.#pause(call, opened.retryAfterMs)
      throw errorOfReply(opened, call.request)
    }
  }

  /** Ends every connection; calls and streams that run fail. */
  close(): void {
    this.#closed = new CancelledError('the client is closed')
    this.#lanes.work.pool.close()
    this.#lanes.lease.pool.close()
    for (const connection of this.#streams) connection.destroy(this.#closed)
    this.#path.leave(this.#user, this.#closed)
  }

  async #authorize(call: Call): Promise<void> {
    try {
      const authorization = this.#options.config.credentials.authorization()
      call.authorization =
        authorization instanceof Promise ? await abortable(authorization, call.signal) : authorization
    } catch (error) {
      throw this.#exchanges.unsent(call, error)
    }
    call.signal?.throwIfAborted()
  }

  /** Resolves with undefined when a kept connection was closed already and the request should be sent on another. */
  async #attempt(call: Call): Promise<Answer | undefined> {
    const group = call.request.resource?.group ?? ''
    const { priority } = call.request.options ?? {}
    const entered =
      priority === undefined
        ? call.lane.enter(group, call.signal)
        : call.lane.enterSpare(group, call.signal, priority === 'low' ? LOW_PRIORITY_MS : undefined)
    const permit = entered instanceof Promise ? await entered : entered
    this.#options.metrics.waited(call.request.method, permit.waitedMs)
    let outcome: FlowOutcome = 'done'
    let connection: Connection | undefined
    try {
      connection = await this.#connection(call)
      const answer = await this.#exchanges.send(call, connection)
      if (answer?.status === 429 && priority !== 'spare') outcome = 'throttled'
      return answer
    } finally {
      if (connection !== undefined) call.lane.pool.release(connection)
      permit.end(outcome)
    }
  }

  /** A connection, at a moment when the lane is not paused: the wait for one may have been long. */
  async #connection(call: Call): Promise<Connection> {
    const { pool } = call.lane
    for (;;) {
      let connection: Connection
      try {
        const acquired = call.request.options?.newConnection ? pool.open(call.signal) : pool.acquire(call.signal)
        connection = acquired instanceof Promise ? await acquired : acquired
      } catch (error) {
        throw this.#exchanges.unconnected(call, error)
      }
      if (!call.lane.paused) return connection
      pool.release(connection)
      await call.lane.unpaused(call.signal)
    }
  }

  /** Prepares another attempt after a refusal that allows for one; throws the refusal otherwise. */
  async #recover(call: Call, answer: Answer): Promise<void> {
    if (await this.#reauthorized(call, answer)) return
    const { retryAfterMs } = answer
    const isSpare = call.request.options?.priority === 'spare'
    if (retryAfterMs === undefined || call.throttled === MAX_THROTTLED || isSpare)
      throw errorOfReply(answer, call.request)
    call.throttled += 1
    this.#pause(call, retryAfterMs)
    // Whoever has to wait for longer than everybody else knows best what to do meanwhile.
    if (retryAfterMs > call.lane.longestPauseMs) throw errorOfReply(answer, call.request)
  }

  #pause({ request, lane, throttled }: Call, askedMs: number): void {
    const { log } = this.#options
    const delay = `${askedMs / 1000}s`
    log.v(4)?.info('Got a Retry-After response', { delay, attempt: throttled, url: request.path })
    const pauseMs = Math.min(askedMs, lane.longestPauseMs)
    if (askedMs >= LONG_WAIT_MS && !lane.paused) {
      log.info('The API server asks to wait', { retryAfter: delay, pause: `${pauseMs / 1000}s`, url: request.path })
    }
    lane.pause(pauseMs)
  }

  async #reauthorized(call: Call, answer: Answer): Promise<boolean> {
    if (answer.status !== 401 || call.reauthorized) return false
    call.reauthorized = true
    const { credentials } = this.#options.config
    try {
      if (!(await abortable(credentials.refused(call.authorization), call.signal))) return false
    } catch (error) {
      throw this.#exchanges.unsent(call, error)
    }
    if (credentials.certificate() !== undefined) call.lane.pool.renew()
    return true
  }

  async #streamConnection(call: Call): Promise<Connection> {
    try {
      if (this.#closed !== undefined) throw this.#closed
      const connection = await this.#exchanges.dial(call.signal, (lost) => {
        this.#streams.delete(lost)
        this.#path.streamClosed()
      })
      this.#streams.add(connection)
      this.#path.streamOpened()
      return connection
    } catch (error) {
      throw this.#exchanges.unconnected(call, error)
    }
  }

  /** What any server answers with a few bytes, whoever asks. */
  async #smallRead(connection: Connection, signal: AbortSignal): Promise<boolean> {
    const call = new Call({ method: 'GET', path: '/version', options: { signal } }, this.#lanes.work)
    await this.#authorize(call)
    return (await this.#exchanges.send(call, connection)) !== undefined
  }

  *#connections(): Generator<Connection> {
    yield* this.#streams
    yield* this.#lanes.work.pool.connections
    yield* this.#lanes.lease.pool.connections
  }
}
