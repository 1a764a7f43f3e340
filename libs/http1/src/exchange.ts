import { type Cancel, type Clock, onAbort } from '@csi-sidecars/base'
import { Body } from './body.ts'
import type { ExchangeSink, HttpConnection } from './connection.ts'
import { NetworkError } from './network-error.ts'
import type { ResponseHead } from './response-parser.ts'

/** A complete answer. */
export interface ServerReply {
  readonly head: ResponseHead
  readonly body: Buffer
}

/** The time-out and the signal that end a request without an answer. */
export interface ExchangeLimits {
  readonly clock: Clock
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

/** The error of a failed exchange. It says whether a part of the response was received. */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError'
  /** True if a part of the response was received. */
  readonly hasAnswered: boolean

  constructor(cause: Error, answered: boolean) {
    super(cause.message, { cause })
    this.hasAnswered = answered
  }
}

/**
 * Sends a request and collects the whole reply.
 *
 * Guarantees: when the promise settles, the connection is free again or closed.
 *
 * Caveats: a reply of 300 or above is cut after 1 MiB, because its beginning has the reason.
 *
 * Errors: the reason of an aborted signal, otherwise an ExchangeError.
 */
export function exchange(connection: HttpConnection, request: string, limits: ExchangeLimits): Promise<ServerReply> {
  return new Promise((resolve, reject) => {
    connection.begin(request, new ReplyCollector(connection, limits, { resolve, reject }))
  })
}

class ReplyCollector implements ExchangeSink {
  readonly #connection: HttpConnection
  readonly #signal: AbortSignal | undefined
  readonly #cancelTimer: Cancel
  readonly #removeAbortListener: Cancel
  readonly #resolve: (reply: ServerReply) => void
  readonly #reject: (error: unknown) => void
  readonly #body: Body
  #head: ResponseHead | undefined

  constructor(
    connection: HttpConnection,
    { clock, timeoutMs, signal }: ExchangeLimits,
    { resolve, reject }: Pick<PromiseWithResolvers<ServerReply>, 'resolve' | 'reject'>,
  ) {
    this.#connection = connection
    this.#body = new Body(connection)
    this.#resolve = resolve
    this.#reject = reject
    this.#signal = signal
    this.#removeAbortListener = onAbort(signal, () => connection.destroy(new NetworkError('context canceled')))
    this.#cancelTimer = clock.schedule(timeoutMs, () =>
      connection.destroy(new NetworkError('context deadline exceeded')),
    )
  }

  head(head: ResponseHead): void {
    this.#head = head
    this.#body.begin(head)
  }

  data(bytes: Buffer): void {
    this.#body.push(bytes)
    if (!this.#body.isRefusalComplete) return
    this.end()
    this.#connection.destroy(new NetworkError('the refusal is too long'))
  }

  end(): void {
    this.#removeLimits()
    if (this.#head === undefined) this.#reject(new ExchangeError(new NetworkError('EOF'), false))
    else this.#resolve({ head: this.#head, body: this.#body.bytes() })
  }

  fail(error: Error, answered: boolean): void {
    this.#removeLimits()
    this.#reject(this.#signal?.aborted ? this.#signal.reason : new ExchangeError(error, answered))
  }

  #removeLimits(): void {
    this.#cancelTimer()
    this.#removeAbortListener()
  }
}
