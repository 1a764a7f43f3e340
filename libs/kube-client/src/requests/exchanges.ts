import { CancelledError, type Clock } from '@csi-sidecars/base'
import { type Dial, ExchangeError, exchange, HttpConnection, openStream, type StreamSink } from '@csi-sidecars/http1'
import type { ApiRequest } from '../api/client.ts'
import type { ClusterConfig } from '../config/cluster-config.ts'
import { type ApiAnswer, type ApiCall, answerOf, unansweredError } from './call.ts'
import { RequestWriter } from './request-text.ts'
import type { RestMetrics } from './rest-metrics.ts'

/** Everything that all requests of one client share. */
export interface ExchangesOptions {
  readonly config: ClusterConfig
  readonly dial: Dial
  readonly clock: Clock
  readonly metrics: RestMetrics
  readonly userAgent: string
  /** Called when a caller stops waiting without any byte of an answer since `sentAt`. */
  onUnanswered(call: ApiCall, sentAt: number): void
  onAnswered(call: ApiCall): void
}

/** The time limit of a read, as in the API server. Watches have no such limit. */
const READ_TIMEOUT_MS = 60_000
/** The time limit of a write. The API server ends a write after 34 s, so a later answer is lost. */
const WRITE_TIMEOUT_MS = 35_000
/** The time limit for the response head of a watch. Some proxies delay the head until the first event or bookmark. */
const STREAM_HEAD_TIMEOUT_MS = 90_000

/** Sends a call once over one connection: the request, its time limit, its metrics and its errors. */
export class Exchanges {
  readonly #options: ExchangesOptions
  readonly #origin: string
  readonly #writer: RequestWriter

  constructor(options: ExchangesOptions) {
    this.#options = options
    this.#origin = options.config.origin + options.config.basePath
    this.#writer = new RequestWriter(options.config, options.userAgent)
  }

  /** Sends a request. Resolves with undefined if a reused connection was closed: the caller sends the request again. */
  async send(call: ApiCall, connection: HttpConnection): Promise<ApiAnswer | undefined> {
    const { clock, metrics } = this.#options
    const { method, options } = call.request
    const isReused = connection.exchangeCount > 0
    const startedAt = clock.monotonic()
    try {
      const text = this.#prepare(call)
      const timeoutMs = options?.timeoutMs ?? (call.isWrite ? WRITE_TIMEOUT_MS : READ_TIMEOUT_MS)
      const { head, body } = await exchange(connection, text, { clock, timeoutMs, signal: call.signal })
      metrics.recordExchange(method, clock.monotonic() - startedAt, {
        sent: sizeOf(call.request),
        received: body.length,
      })
      this.#countAttempt(call, head.status)
      this.#options.onAnswered(call)
      return answerOf(call.request, head, body)
    } catch (error) {
      if (isReused && !connection.hasAnswered && call.signal?.aborted) this.#options.onUnanswered(call, startedAt)
      if (!(error instanceof ExchangeError)) throw error
      metrics.recordExchange(method, clock.monotonic() - startedAt, { sent: sizeOf(call.request), received: undefined })
      this.#countAttempt(call, '<error>')
      // Only a read is repeated, because the server may have carried out a write before it closed the connection.
      if (!isReused || error.hasAnswered || call.isWrite || call.hasReconnected) {
        throw unansweredError(call, error.cause, { origin: this.#origin, sent: true })
      }
      call.hasReconnected = true
      return undefined
    }
  }

  /** Requests a stream. Resolves with `streaming`, or with the refusal after closing. */
  async open(call: ApiCall, connection: HttpConnection, sink: StreamSink): Promise<'streaming' | ApiAnswer> {
    const { clock } = this.#options
    try {
      const limits = { clock, timeoutMs: STREAM_HEAD_TIMEOUT_MS, signal: call.signal }
      const opened = await openStream(connection, this.#prepare(call), { sink, limits })
      this.#countAttempt(call, opened.head.status)
      if (opened.kind === 'streaming') return 'streaming'
      connection.destroy(new CancelledError('the stream was refused'))
      return answerOf(call.request, opened.head, opened.body)
    } catch (error) {
      connection.destroy(new CancelledError('the stream was not opened'))
      if (!(error instanceof ExchangeError)) throw error
      this.#countAttempt(call, '<error>')
      throw unansweredError(call, error.cause, { origin: this.#origin })
    }
  }

  /** Opens a connection outside of any pool, which the caller closes. */
  async dial(signal: AbortSignal | undefined, onLost: (connection: HttpConnection) => void): Promise<HttpConnection> {
    const { dial, clock } = this.#options
    return new HttpConnection(await dial(signal), { clock, onLost })
  }

  /** Returns the error of a call that got no connection. */
  countUnconnected(call: ApiCall, thrown: unknown): unknown {
    this.#countAttempt(call, '<error>')
    return this.unsentError(call, thrown)
  }

  unsentError(call: ApiCall, thrown: unknown): unknown {
    return unansweredError(call, thrown, { origin: this.#origin })
  }

  /** Calls `beforeSend`, and then returns the text of the request. The caller must send the text at once. */
  #prepare(call: ApiCall): string {
    const text = this.#writer.write(call.request, call)
    call.signal?.throwIfAborted()
    call.request.options?.beforeSend?.()
    return text
  }

  #countAttempt(call: ApiCall, result: number | '<error>'): void {
    this.#options.metrics.recordAttempt(call.request.method, result, call.attempts)
    call.attempts += 1
  }
}

function sizeOf(request: ApiRequest): number {
  return request.body === undefined ? 0 : Buffer.byteLength(request.body.text)
}
