import type { Socket } from 'node:net'
import { type Cancel, CancelledError, type Clock, onAbort, scope } from '@csi-sidecars/base'
import { HttpConnection } from './connection.ts'
import type { Dial } from './dial.ts'

/** The way to new connections, and their maximum number. */
export interface PoolOptions {
  readonly dial: Dial
  readonly clock: Clock
  /** The number of connections that may be open at a time. */
  readonly maxConnections: number
}

/** The time after which an idle connection is closed. API servers and load balancers close it after 90 s. */
const MAX_IDLE_MS = 50_000
/** The maximum number of parallel dials. Many callers need few dials, because other connections are released soon. */
const MAX_DIALING = 8

interface Waiter {
  hand(connection: HttpConnection): void
  fail(error: unknown): void
}

interface Idle {
  readonly connection: HttpConnection
  readonly since: number
}

/**
 * A pool of keep-alive connections to one server.
 *
 * Guarantees:
 * - A connection belongs to one caller until it is released or lost.
 * - Waiting callers are served in order. The pool has at most `maxConnections`, apart from those of `open`.
 * - A caller gets a connection that the server has not closed as far as this process can know.
 *
 * Caveats: the server may close a kept connection at the moment of a request. The caller decides whether to repeat it.
 *
 * Errors: a failed dial fails its share of the waiting callers with the NetworkError of the dial. `close` fails all of
 * them with a CancelledError.
 */
export class ConnectionPool {
  readonly #options: PoolOptions
  /** The idle connections. The last released is used first, so that others expire. */
  readonly #idle: Idle[] = []
  readonly #waiters = new Set<Waiter>()
  readonly #openConnections = new Set<HttpConnection>()
  readonly #closing = new AbortController()
  #dialing = 0
  #cancelSweep: Cancel | undefined

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** Returns an idle connection at once, otherwise a promise. */
  acquire(signal?: AbortSignal): HttpConnection | Promise<HttpConnection> {
    if (this.#closing.signal.aborted) return Promise.reject(this.#closing.signal.reason)
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.connection.isUsable) return idle.connection
      idle.connection.destroy(new CancelledError('the connection is not kept'))
    }
    return this.#waitForConnection(signal)
  }

  /** Opens a new connection, even beyond the limit, because idle ones may be dead. */
  async open(signal?: AbortSignal): Promise<HttpConnection> {
    using either = scope(this.#closing.signal, signal)
    return this.#add(await this.#options.dial(either.signal))
  }

  /** All open connections, idle or not. */
  get connections(): Iterable<HttpConnection> {
    return this.#openConnections
  }

  /** Returns a connection to the pool, or closes it if unusable. */
  release(connection: HttpConnection): void {
    if (!connection.isUsable || this.#closing.signal.aborted) {
      connection.destroy(new CancelledError('the connection is not kept'))
      return
    }
    const waiter = this.#nextWaiter()
    if (waiter !== undefined) {
      waiter.hand(connection)
    } else {
      this.#idle.push({ connection, since: this.#options.clock.monotonic() })
      this.#sweepLater()
    }
  }

  /** Closes all connections. Running exchanges fail. */
  close(): void {
    const reason = new CancelledError('the client is closed')
    this.#closing.abort(reason)
    this.#cancelSweep?.()
    for (const waiter of this.#waiters) waiter.fail(reason)
    this.#waiters.clear()
    this.#idle.length = 0
    for (const connection of this.#openConnections) connection.destroy(reason)
  }

  /** Closes the idle connections, so that the next connections use the new credentials. */
  destroyIdle(): void {
    for (const { connection } of this.#idle.splice(0)) connection.destroy(new CancelledError('credentials changed'))
  }

  #add(socket: Socket): HttpConnection {
    const { clock } = this.#options
    const connection = new HttpConnection(socket, { clock, onLost: (lost) => this.#forget(lost) })
    this.#openConnections.add(connection)
    return connection
  }

  #waitForConnection(signal: AbortSignal | undefined): Promise<HttpConnection> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const leave = (): void => {
        this.#waiters.delete(waiter)
        removeAbortListener()
      }
      const waiter: Waiter = {
        hand: (connection) => {
          leave()
          resolve(connection)
        },
        fail: (error) => {
          leave()
          reject(error)
        },
      }
      const removeAbortListener = onAbort(signal, () => {
        leave()
        reject(signal?.reason)
      })
      this.#waiters.add(waiter)
      this.#dialMore()
    })
  }

  #dialMore(): void {
    const maxDialing = Math.min(this.#waiters.size, MAX_DIALING)
    const room = this.#options.maxConnections - this.#openConnections.size
    while (this.#dialing < maxDialing && this.#dialing < room) this.#dialOne()
  }

  #dialOne(): void {
    this.#dialing += 1
    this.#options.dial(this.#closing.signal).then(
      (socket) => {
        this.#dialing -= 1
        this.release(this.#add(socket))
      },
      (error: unknown) => {
        // A failed dial fails only its share of the waiting callers, because other dials may succeed. If the server is
        // unreachable, all callers fail soon instead of one after the other.
        const share = Math.ceil(this.#waiters.size / this.#dialing)
        this.#dialing -= 1
        for (let failed = 0; failed < share; failed += 1) this.#nextWaiter()?.fail(error)
        this.#dialMore()
      },
    )
  }

  #nextWaiter(): Waiter | undefined {
    for (const waiter of this.#waiters) return waiter
    return undefined
  }

  #forget(connection: HttpConnection): void {
    this.#openConnections.delete(connection)
    const at = this.#idle.findIndex((idle) => idle.connection === connection)
    if (at >= 0) this.#idle.splice(at, 1)
    this.#dialMore()
  }

  #sweepLater(): void {
    if (this.#cancelSweep !== undefined) return
    this.#cancelSweep = this.#options.clock.schedule(MAX_IDLE_MS, () => {
      this.#cancelSweep = undefined
      const limit = this.#options.clock.monotonic() - MAX_IDLE_MS
      // The list is sorted by age: its first connection has been idle for the longest time.
      const fresh = this.#idle.findIndex(({ since }) => since > limit)
      const old = this.#idle.splice(0, fresh < 0 ? this.#idle.length : fresh)
      for (const { connection } of old) connection.destroy(new CancelledError('idle for too long'))
      if (this.#idle.length > 0) this.#sweepLater()
    })
  }
}
