import { onAbort } from '@csi-sidecars/base'
import { Body } from './body.ts'
import type { ExchangeSink, HttpConnection } from './connection.ts'
import type { ExchangeLimits } from './exchange.ts'
import { ExchangeError } from './exchange.ts'
import { NetworkError } from './network-error.ts'
import type { ResponseHead } from './response-parser.ts'

/** The receiver of the body of an endless reply. Its methods must not throw. */
export interface StreamSink {
  /** The server has accepted the request, and the reply has begun. */
  begin(head: ResponseHead): void
  data(bytes: Buffer): void
  /** The server ended the body regularly. */
  end(): void
  fail(error: Error): void
}

/** The result of opening a stream. After a success the sink receives the body; a refusal contains its body. */
export type StreamOpening =
  | { readonly kind: 'streaming'; readonly head: ResponseHead }
  | { readonly kind: 'refused'; readonly head: ResponseHead; readonly body: Buffer }

interface StreamOptions {
  readonly sink: StreamSink
  readonly limits: ExchangeLimits
}

/**
 * Sends a request whose reply may last for minutes. The time limit applies only to the head of the reply. No other
 * request uses the connection, which closes when the stream ends.
 */
export function openStream(
  connection: HttpConnection,
  request: string,
  options: StreamOptions,
): Promise<StreamOpening> {
  return new Promise((resolve, reject) => {
    connection.begin(request, new StreamOpener(connection, options, { resolve, reject }))
  })
}

interface Settle {
  resolve(opened: StreamOpening): void
  reject(error: unknown): void
}

class StreamOpener implements ExchangeSink {
  readonly #connection: HttpConnection
  readonly #sink: StreamSink
  readonly #signal: AbortSignal | undefined
  readonly #settle: Settle
  readonly #removeLimits: () => void
  readonly #refusal: Body
  #head: ResponseHead | undefined

  constructor(connection: HttpConnection, { sink, limits }: StreamOptions, settle: Settle) {
    this.#connection = connection
    this.#sink = sink
    this.#refusal = new Body(connection)
    this.#signal = limits.signal
    this.#settle = settle
    const cancelTimer = limits.clock.schedule(limits.timeoutMs, () =>
      connection.destroy(new NetworkError('context deadline exceeded')),
    )
    const removeAbortListener = onAbort(limits.signal, () => connection.destroy(new NetworkError('context canceled')))
    this.#removeLimits = () => {
      cancelTimer()
      removeAbortListener()
    }
  }

  get #isStreaming(): boolean {
    return this.#head !== undefined && this.#head.status < 300
  }

  head(head: ResponseHead): void {
    this.#head = head
    if (!this.#isStreaming) {
      this.#refusal.begin(head)
      return
    }
    this.#removeLimits()
    this.#sink.begin(head)
    this.#settle.resolve({ kind: 'streaming', head })
  }

  data(bytes: Buffer): void {
    if (this.#isStreaming) return this.#sink.data(bytes)
    this.#refusal.push(bytes)
    if (!this.#refusal.isRefusalComplete) return
    this.end()
    this.#connection.destroy(new NetworkError('the refusal is too long'))
  }

  end(): void {
    if (this.#isStreaming) {
      this.#sink.end()
      return
    }
    this.#removeLimits()
    if (this.#head === undefined) return
    this.#settle.resolve({ kind: 'refused', head: this.#head, body: this.#refusal.bytes() })
  }

  fail(error: Error, answered: boolean): void {
    if (this.#isStreaming) {
      this.#sink.fail(error)
      return
    }
    this.#removeLimits()
    this.#settle.reject(this.#signal?.aborted ? this.#signal.reason : new ExchangeError(error, answered))
  }
}
