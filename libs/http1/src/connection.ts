import type { Socket } from 'node:net'
import { type Clock, toError } from '@csi-sidecars/base'
import { type ResponseHead, ResponseParser, type ResponseSink } from './response-parser.ts'

/** Receives the response of one exchange, or its failure at any point. Its methods must not throw. */
export interface ExchangeSink extends ResponseSink {
  /** Ends the exchange. `answered` is false if no byte of a response was received. */
  fail(error: Error, answered: boolean): void
}

/** The error of a connection that ended before the response was complete. The texts equal Go's. */
export class EndOfStreamError extends Error {
  override readonly name = 'EndOfStreamError'

  constructor(answered: boolean) {
    super(answered ? 'unexpected EOF' : 'EOF')
  }
}

/**
 * A connected socket that carries one HTTP exchange at a time. No other code uses the socket.
 *
 * Guarantees:
 * - Each begun exchange ends once, by `end` or by `fail`. It is over before the sink hears of its end, so that the sink
 *   can begin the next exchange or release the connection.
 * - A sink never receives bytes that arrived before its request was sent. Such bytes make the connection unusable.
 * - `onLost` is called once, no matter which side ends the connection.
 *
 * Caveats: `isUsable` must be true when an exchange begins. A connection has no time limit of its own: `exchange` and
 * `openStream` have them.
 *
 * Errors: the error of the socket, a ProtocolError, an EndOfStreamError, or the error given to `destroy`.
 */
export class HttpConnection implements ResponseSink {
  readonly #socket: Socket
  readonly #parser = new ResponseParser()
  readonly #clock: Clock
  readonly #onLost: (connection: HttpConnection) => void
  /** The monotonic time when the connection was opened. */
  readonly openedAt: number
  /** The monotonic time of the peer's last bytes, or at first of the opening. */
  lastHeardAt: number
  #sink: ExchangeSink | undefined
  #hasAnswered = false
  #isLost = false
  /** The number of exchanges so far. The peer may have closed a connection that has already served an exchange. */
  exchangeCount = 0

  /** `onLost` is called once, when the connection can no longer be used. */
  constructor(socket: Socket, { clock, onLost }: { clock: Clock; onLost: (connection: HttpConnection) => void }) {
    this.#socket = socket
    this.#clock = clock
    this.#onLost = onLost
    this.openedAt = clock.monotonic()
    this.lastHeardAt = this.openedAt
    socket.on('data', (bytes: Buffer) => this.#receive(bytes))
    socket.on('end', () => this.#lose(undefined))
    socket.on('error', (error) => this.#lose(error))
    socket.on('close', () => this.#lose(undefined))
  }

  /** True if another exchange may begin. */
  get isUsable(): boolean {
    if (this.#isLost || this.#sink !== undefined) return false
    return this.exchangeCount === 0 || (this.#parser.keepAlive && !hasUnreadBytes(this.#socket))
  }

  /** True if any part of the answer to the last exchange has arrived. */
  get hasAnswered(): boolean {
    return this.#hasAnswered
  }

  /** Writes the request to the socket at once. `sink` receives the answer, and then `end` or `fail`. */
  begin(request: string, sink: ExchangeSink): void {
    this.exchangeCount += 1
    this.#sink = sink
    this.#hasAnswered = false
    this.#parser.expect(this)
    this.#socket.write(request)
  }

  /** Ends the connection. A running exchange fails with `error`. */
  destroy(error: Error): void {
    this.#lose(error)
  }

  /** Stops reading, so that a slow reader slows the sender. */
  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  head(head: ResponseHead): void {
    this.#sink?.head(head)
  }

  data(bytes: Buffer): void {
    this.#sink?.data(bytes)
  }

  /** Frees the connection before it notifies the sink, so that the sink can release the connection at once. */
  end(): void {
    const sink = this.#sink
    this.#sink = undefined
    sink?.end()
  }

  #receive(bytes: Buffer): void {
    if (this.#isLost) return
    this.#hasAnswered = true
    this.lastHeardAt = this.#clock.monotonic()
    try {
      this.#parser.push(bytes)
    } catch (thrown) {
      this.#lose(toError(thrown))
    }
  }

  #lose(error: Error | undefined): void {
    if (this.#isLost) return
    this.#isLost = true
    const complete = error === undefined && this.#parser.close()
    const sink = this.#sink
    this.#sink = undefined
    this.#socket.destroy()
    this.#onLost(this)
    if (!complete) sink?.fail(error ?? new EndOfStreamError(this.#hasAnswered), this.#hasAnswered)
  }
}

interface Handle {
  hasPendingRead?(): boolean
}

/**
 * Reports whether the kernel has bytes that the process has not read. The client would take an unsolicited response in
 * these bytes as the answer to its next request. Always false before Node.js 26.12.1.
 */
function hasUnreadBytes(socket: Socket): boolean {
  const { _handle: handle } = socket as Socket & { readonly _handle?: Handle | null }
  return handle?.hasPendingRead?.() === true
}
