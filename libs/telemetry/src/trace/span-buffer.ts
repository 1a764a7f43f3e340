import { Backoff, type Cancel, type Clock, deadline, onAbort, scope } from '@csi-sidecars/base'
import type { Logger } from '../logger.ts'
import type { Counter } from '../metrics.ts'
import type { SpanBatch } from './otlp-json.ts'
import type { Delivery, OtlpClient } from './otlp-request.ts'
import type { BatchSettings } from './settings.ts'
import type { Span } from './span.ts'

/** The destination of spans, and the number of spans that may wait. */
export interface SpanBufferOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly batch: BatchSettings
  /** The time-out of one request to the collector. */
  readonly requestMs: number
  /** The description of the sender in each request. */
  readonly sender: Omit<SpanBatch, 'spans'>
  readonly client: Pick<OtlpClient, 'send' | 'close'>
  /** The URL of the collector, for the log. */
  readonly endpoint: string
  readonly exported: Counter<never>
  readonly dropped: Counter<'reason'>
  /** Runs a function outside of any run. */
  readonly outside: (work: () => void) => void
}

const FIRST_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 5_000
const JITTER = 0.2
/** The shortest time between two log lines about a failing collector. */
const REPORT_MS = 60_000

/**
 * Collects spans and sends them in batches. It contains at most the queue and one batch in progress, even if the
 * collector is unreachable for long: spans that do not fit are dropped and counted.
 */
export class SpanBuffer {
  readonly #options: SpanBufferOptions
  readonly #life = scope()
  #waiting: Span[] = []
  #sending: Promise<void> | undefined
  #cancelTimer: Cancel | undefined
  /** True if the last attempt to send spans has failed. */
  #failing = false
  /** True if a failure was logged, so that the recovery is logged too. */
  #reported = false
  #closing = false
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor(options: SpanBufferOptions) {
    this.#options = options
  }

  add(span: Span): void {
    const { batch, outside } = this.#options
    if (this.#life.signal.aborted || this.#waiting.length >= batch.queueSize) return this.#drop(1, 'queue_full')
    this.#waiting.push(span)
    if (this.#sending !== undefined) return
    if (this.#waiting.length >= batch.batchSize) outside(() => this.#begin())
    else if (this.#cancelTimer === undefined) outside(() => this.#arm())
  }

  /**
   * Sends the waiting spans, unless the collector is failing, and accepts no further spans. The signal limits the time.
   */
  async close(signal: AbortSignal): Promise<void> {
    this.#closing = true
    this.#cancelTimer?.()
    if (signal.aborted || this.#failing) this.#life.abort(new Error('the collector does not answer'))
    const removeAbortListener = onAbort(signal, () => this.#life.abort(signal.reason))
    await this.#sending
    while (this.#waiting.length > 0 && !this.#failing && !this.#life.signal.aborted) await this.#sendBatch()
    removeAbortListener()
    this.#life.abort(new Error('closed'))
    this.#drop(this.#waiting.splice(0).length, 'shutdown')
    this.#options.client.close()
  }

  #arm(): void {
    const { clock, batch } = this.#options
    this.#cancelTimer = clock.schedule(batch.delayMs, () => this.#begin())
  }

  #begin(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#sending = this.#sendFull().finally(() => {
      this.#sending = undefined
      if (this.#waiting.length > 0 && !this.#life.signal.aborted) this.#arm()
    })
  }

  /** Sends one batch of spans, and further batches as long as they are full. */
  async #sendFull(): Promise<void> {
    do await this.#sendBatch()
    while (this.#waiting.length >= this.#options.batch.batchSize && !this.#life.signal.aborted)
  }

  async #sendBatch(): Promise<void> {
    const { batch, sender, exported } = this.#options
    const spans = this.#waiting.splice(0, batch.batchSize)
    const delivery = await this.#deliver({ ...sender, spans })
    if (delivery.kind === 'delivered') {
      const rejected = Math.min(Math.max(delivery.rejected, 0), spans.length)
      exported.inc({}, spans.length - rejected)
      this.#drop(rejected, 'rejected')
      if (rejected > 0) this.#reportFailure(delivery.why)
      else this.#works()
      return
    }
    this.#failing = true
    this.#drop(spans.length, delivery.kind === 'refused' ? 'rejected' : 'unreachable')
    this.#reportFailure(delivery.why)
  }

  /** Sends a batch of spans, and retries until the time-out of the batch. */
  async #deliver(batch: SpanBatch): Promise<Delivery> {
    const { clock } = this.#options
    using limit = deadline(clock, this.#options.batch.timeoutMs, {
      operation: 'exporting spans',
      signal: this.#life.signal,
    })
    const random = (): number => clock.random()
    const pauses = new Backoff({ initialMs: FIRST_PAUSE_MS, maxMs: MAX_PAUSE_MS, jitter: JITTER, random })
    for (;;) {
      const delivery = await this.#sendOnce(batch, limit.signal)
      if (delivery.kind !== 'later') return delivery
      this.#failing = true
      if (limit.signal.aborted || this.#closing) return delivery
      // A single failure may only mean that the collector closed the connection, so it is not reported.
      if (pauses.failures > 0) this.#reportFailure(delivery.why)
      try {
        const pause = pauses.next()
        await clock.sleep(delivery.afterMs ?? pause, limit.signal)
      } catch (error) {
        if (limit.signal.aborted) return delivery
        throw error
      }
    }
  }

  async #sendOnce(batch: SpanBatch, signal: AbortSignal): Promise<Delivery> {
    using limit = deadline(this.#options.clock, this.#options.requestMs, { operation: 'no answer', signal })
    return await this.#options.client.send(batch, limit.signal)
  }

  #works(): void {
    this.#failing = false
    if (!this.#reported) return
    this.#reported = false
    this.#options.log.info('Spans are exported again', { endpoint: this.#options.endpoint })
  }

  #reportFailure(why: string): void {
    this.#reported = true
    const { clock, log, endpoint } = this.#options
    const now = clock.monotonic()
    if (now - this.#reportedAt < REPORT_MS) return
    this.#reportedAt = now
    log.warn('Spans could not be exported', { endpoint, err: why })
  }

  #drop(spans: number, reason: string): void {
    if (spans > 0) this.#options.dropped.inc({ reason }, spans)
  }
}
