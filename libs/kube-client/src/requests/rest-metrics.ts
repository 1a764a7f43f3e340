import {
  type Counter,
  type Histogram,
  type Metrics,
  REST_CLIENT_RATE_LIMITER_DURATION_SECONDS,
  REST_CLIENT_REQUEST_DURATION_SECONDS,
  REST_CLIENT_REQUEST_RETRIES_TOTAL,
  REST_CLIENT_REQUEST_SIZE_BYTES,
  REST_CLIENT_REQUESTS_TOTAL,
  REST_CLIENT_RESPONSE_SIZE_BYTES,
} from '@csi-sidecars/telemetry'
import type { HttpMethod } from '../api/client.ts'

/** The status code of an answer. `<error>` means that the request got no answer. */
export type ResultCode = number | '<error>'

/** The `rest_client_*` metrics of one client. Does nothing if the process serves no metrics. */
export class RestMetrics {
  readonly #host: string
  readonly #requests: Counter<'code' | 'method' | 'host'> | undefined
  readonly #retries: Counter<'code' | 'verb' | 'host'> | undefined
  readonly #duration: Histogram<'verb' | 'host'> | undefined
  readonly #waiting: Histogram<'verb' | 'host'> | undefined
  readonly #requestSize: Histogram<'verb' | 'host'> | undefined
  readonly #responseSize: Histogram<'verb' | 'host'> | undefined

  constructor(metrics: Metrics | undefined, host: string) {
    this.#host = host
    this.#requests = metrics?.counter(REST_CLIENT_REQUESTS_TOTAL)
    this.#retries = metrics?.counter(REST_CLIENT_REQUEST_RETRIES_TOTAL)
    this.#duration = metrics?.histogram(REST_CLIENT_REQUEST_DURATION_SECONDS)
    this.#waiting = metrics?.histogram(REST_CLIENT_RATE_LIMITER_DURATION_SECONDS)
    this.#requestSize = metrics?.histogram(REST_CLIENT_REQUEST_SIZE_BYTES)
    this.#responseSize = metrics?.histogram(REST_CLIENT_RESPONSE_SIZE_BYTES)
  }

  recordWait(verb: HttpMethod, ms: number): void {
    this.#waiting?.observe({ verb, host: this.#host }, ms / 1000)
  }

  /** Counts an attempt that has ended. The first attempt is number 0. */
  recordAttempt(method: HttpMethod, result: ResultCode, attempt: number): void {
    const code = String(result)
    this.#requests?.inc({ code, method, host: this.#host })
    if (attempt > 0) this.#retries?.inc({ code, verb: method, host: this.#host })
  }

  /** Records the duration of an attempt, from the first byte sent to the last byte read, and its sizes. */
  recordExchange(verb: HttpMethod, ms: number, sizes: { sent: number; received: number | undefined }): void {
    const labels = { verb, host: this.#host }
    this.#duration?.observe(labels, ms / 1000)
    this.#requestSize?.observe(labels, sizes.sent)
    if (sizes.received !== undefined) this.#responseSize?.observe(labels, sizes.received)
  }
}
