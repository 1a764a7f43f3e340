import type { Socket } from 'node:net'
import { type Clock, toError } from '@csi-sidecars/base'
import { type ResponseHead, ResponseParser, type ResponseSink } from './response-parser.ts'

/** The receiver of one exchange: a whole response, or a failure at any point. Its methods must not throw. */
export interface ExchangeSink extends ResponseSink {
  /** Ends the exchange. `answered` is false if no byte of a response was received. */
  fail(error: Error, answered: boolean): void
}

/** The peer ended the connection before the response was complete. The texts equal Go's. */
export class EndOfStreamError extends Error {
  override readonly name = 'EndOfStreamError'

  constructor(answered: boolean) {
    super(answered ? 'unexpected EOF' : 'EOF')
  }
}

/** One connected socket that carries one exchange at a time. Only this class touches the socket from here on. */
export class HttpConnection implements ResponseSink {
  readonly #socket: Socket
  readonly #parser = new ResponseParser()
  readonly #clock: Clock
  readonly #onLost: (connection: HttpConnection) => void
  /** The monotonic time when the connection was opened. */
  readonly openedAt: number
  /** The monotonic time when the peer last sent bytes. Initially the time when the connection was opened. */
  heardAt: number
  #sink: ExchangeSink | undefined
  #answered = false
  #lost = false
  /** Exchanges begun so far: the peer may have closed a connection that has served one before. */
  exchanges = 0

  /** `onLost` is called once, when the connection can carry nothing more. */
  constructor(socket: Socket, { clock, onLost }: { clock: Clock; onLost: (connection: HttpConnection) => void }) {
    this.#socket = socket
    this.#clock = clock
    this.#onLost = onLost
    this.openedAt = clock.monotonic()
    this.heardAt = this.openedAt
    socket.on('data', (bytes: Buffer) => this.#receive(bytes))
    socket.on('end', () => this.#lose(undefined))
    socket.on('error', (error) => this.#lose(error))
    socket.on('close', () => this.#lose(undefined))
  }

  /** True if another exchange may begin. */
  get usable(): boolean {
    if (this.#lost || this.#sink !== undefined) return false
    return this.exchanges === 0 || (this.#parser.keepAlive && !hasUnreadBytes(this.#socket))
  }

  /** True if any part of the answer to the last exchange has arrived. */
  get answered(): boolean {
    return this.#answered
  }

  /** Hands the request's bytes to the socket at once. `sink` gets the answer, and `end` or `fail` at the end. */
  begin(request: string, sink: ExchangeSink): void {
    this.exchanges += 1
    this.#sink = sink
    this.#answered = false
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

  /** Free before the sink hears of the end, so that it may hand the connection on at once. */
  end(): void {
    const sink = this.#sink
    this.#sink = undefined
    sink?.end()
  }

  #receive(bytes: Buffer): void {
    if (this.#lost) return
    this.#answered = true
    this.heardAt = this.#clock.monotonic()
    try {
      this.#parser.push(bytes)
    } catch (thrown) {
      this.#lose(toError(thrown))
    }
  }

  #lose(error: Error | undefined): void {
    if (this.#lost) return
    this.#lost = true
    const complete = error === undefined && this.#parser.close()
    const sink = this.#sink
    this.#sink = undefined
    this.#socket.destroy()
    this.#onLost(this)
    if (!complete) sink?.fail(error ?? new EndOfStreamError(this.#answered), this.#answered)
  }
}

interface Handle {
  hasPendingRead?(): boolean
}

/**
 * Reports whether the kernel holds bytes that the event loop has not read yet. An answer among them would answer the
 * next request. Only the handle knows; `http.Agent` of Node.js asks it too. Older versions than 26.12.1 cannot say.
 */
function hasUnreadBytes(socket: Socket): boolean {
  const { _handle: handle } = socket as Socket & { readonly _handle?: Handle | null }
  return handle?.hasPendingRead?.() === true
}
