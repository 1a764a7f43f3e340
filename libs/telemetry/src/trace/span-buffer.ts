import { abortable, type Clock, messageOf } from '@csi-sidecars/base'
import { ExportResultCode } from '@opentelemetry/core'
import { BatchSpanProcessor, type ReadableSpan } from '@opentelemetry/sdk-trace'
import type { Logger } from '../logger.ts'
import type { Counter } from '../metrics.ts'
import type { Delivery, OtlpExporter } from './otlp-exporter.ts'
import { readableSpan, type Sender } from './readable-span.ts'
import type { BatchSettings } from './settings.ts'
import type { Span } from './span.ts'

/** The destination of spans, and the number of spans that may wait. */
export interface SpanBufferOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly batch: BatchSettings
  /** The description of the sender in each request. */
  readonly sender: Sender
  readonly exporter: OtlpExporter
  /** The URL of the collector, for the log. */
  readonly endpoint: string
  readonly exported: Counter<never>
  readonly dropped: Counter<'reason'>
  /** Runs a function outside of any run. */
  readonly withoutRun: (work: () => void) => void
}

/** The shortest time between two log lines about a failing collector. */
const REPORT_INTERVAL_MS = 60_000

/**
 * Collects spans and sends them in batches. It contains at most the queue and one batch in progress, even if the
 * collector is unreachable for long: spans that do not fit are dropped and counted.
 */
export class SpanBuffer {
  readonly #options: SpanBufferOptions
  readonly #processor: BatchSpanProcessor
  /** The number of spans that wait in the queue of the processor. */
  #waiting = 0
  /** True if the last batch could not be exported. */
  #failing = false
  #closed = false
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor(options: SpanBufferOptions) {
    this.#options = options
    const { queueSize, batchSize, delayMs, timeoutMs } = options.batch
    this.#processor = new BatchSpanProcessor({
      exporter: {
        // The buffer reports failures itself, so the processor always hears of a success.
        export: (spans, done) => void this.#export(spans).then(() => done({ code: ExportResultCode.SUCCESS })),
        shutdown: async () => undefined,
      },
      maxQueueSize: queueSize,
      maxExportBatchSize: batchSize,
      scheduledDelayMillis: delayMs,
      exportTimeoutMillis: timeoutMs,
    })
  }

  add(span: Span): void {
    const { batch, withoutRun, sender } = this.#options
    if (this.#closed || this.#waiting >= batch.queueSize) return this.#drop(1, 'queue_full')
    this.#waiting += 1
    withoutRun(() => this.#processor.onEnd(readableSpan(span, sender)))
  }

  /**
   * Sends the waiting spans, unless the collector is failing, and accepts no further spans. The signal limits the time.
   */
  async close(signal: AbortSignal): Promise<void> {
    this.#closed = true
    // After an abort the spans that still wait are dropped.
    if (!this.#failing && !signal.aborted) await abortable(this.#processor.shutdown(), signal).catch(() => undefined)
    this.#drop(this.#waiting, 'shutdown')
    this.#options.exporter.close()
  }

  async #export(spans: ReadableSpan[]): Promise<void> {
    this.#waiting -= spans.length
    let delivery: Delivery
    try {
      delivery = await this.#options.exporter.send(spans)
    } catch (error) {
      delivery = { kind: 'refused', why: messageOf(error) }
    }
    const rejected = delivery.kind === 'delivered' ? delivery.rejected : spans.length
    this.#options.exported.inc({}, spans.length - rejected)
    this.#drop(rejected, delivery.kind === 'unreachable' ? 'unreachable' : 'rejected')
    if (rejected > 0) this.#reportFailure(delivery.why)
    else this.#reportSuccess()
  }

  #reportSuccess(): void {
    const { log, endpoint } = this.#options
    if (this.#failing) log.info('Spans are exported again', { endpoint })
    this.#failing = false
  }

  #reportFailure(why: string): void {
    const { clock, log, endpoint } = this.#options
    this.#failing = true
    const now = clock.monotonic()
    if (now - this.#reportedAt < REPORT_INTERVAL_MS) return
    this.#reportedAt = now
    log.warn('Spans could not be exported', { endpoint, err: why })
  }

  #drop(spans: number, reason: string): void {
    if (spans > 0) this.#options.dropped.inc({ reason }, spans)
  }
}
