import { type Cancel, type Clock, DeadlineError, deadline, type Scope } from '@csi-sidecars/base'
import { type HttpConnection, NetworkError } from '@csi-sidecars/http1'
import type { Logger } from '@csi-sidecars/telemetry'

/** A client whose connections are checked. The connections of all clients lead to the same server. */
export interface NetworkPathUser {
  readonly streams: ReadonlySet<HttpConnection>
  /** All open connections, including streams. */
  connections(): Iterable<HttpConnection>
  openConnection(signal: AbortSignal, onLost: (connection: HttpConnection) => void): Promise<HttpConnection>
  /** Sends a GET of `/version`. Resolves with whether it was answered; rejects on abort. */
  readVersion(connection: HttpConnection, signal: AbortSignal): Promise<boolean>
}

/**
 * The delay of the first small read, which is a GET of `/version`, so that it does not slow the start. Later reads reuse
 * its connection.
 */
const FIRST_READ_AFTER_MS = 1000
/**
 * The time without an answer after which the client sends a small read. This time and the time limit of the read are
 * less than half a minute together.
 */
const QUIET_BEFORE_READ_MS = 16_000
/** The time limit of a small read. A reachable server answers sooner. */
const READ_TIMEOUT_MS = 10_000
/** The time without an answer after which a request makes its connection suspect. */
const MIN_UNANSWERED_MS = 2000
/** Connections count as equally old if they opened within this time. */
const OPENED_TOGETHER_MS = 5000

/**
 * Detects that all old connections are dead although none was closed. A device on the way may acknowledge bytes and not
 * forward them, so neither errors nor TCP keep-alive report the loss. The check notices that a lease request gets no
 * answer, or a small read in a process without a lease. It then closes each connection that is older than the request
 * and has received nothing since. A single silent stream is resumed by `watch-streams.ts`.
 */
export class NetworkPathCheck {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #users = new Set<NetworkPathUser>()
  #leaseAnsweredAt = Number.NEGATIVE_INFINITY
  #lastReadAt = Number.NEGATIVE_INFINITY
  #readConnection: { readonly connection: HttpConnection; readonly user: NetworkPathUser } | undefined
  #cancel: Cancel | undefined
  #currentRead: Scope | undefined

  constructor({ clock, log }: { clock: Clock; log: Logger }) {
    this.#clock = clock
    this.#log = log
  }

  join(user: NetworkPathUser): void {
    this.#users.add(user)
  }

  /** Removes a client. Aborts a running read if it was the last client. */
  leave(user: NetworkPathUser, reason: Error): void {
    this.#users.delete(user)
    if (this.#users.size === 0) this.#currentRead?.abort(reason)
    if (this.#readConnection?.user === user) this.#readConnection.connection.destroy(reason)
    this.onStreamClosed()
  }

  recordLeaseAnswer(): void {
    this.#leaseAnsweredAt = this.#clock.monotonic()
  }

  /** Called when a caller stops waiting for the answer to a request of `sentAt`. */
  closeSilentConnections(sentAt: number): void {
    const waitedMs = this.#clock.monotonic() - sentAt
    if (waitedMs < MIN_UNANSWERED_MS) return
    const silent = [...this.#connections()].filter(
      ({ openedAt, lastHeardAt }) => openedAt < sentAt && lastHeardAt <= sentAt,
    )
    if (silent.length === 0) return
    const pairs = { waited: `${Math.round(waitedMs / 1000)}s`, connections: silent.length }
    this.#log.warn('No answer from the API server, closing the connections that are older than the request', pairs)
    for (const connection of silent) connection.destroy(new NetworkError('client connection lost'))
  }

  onStreamOpened(): void {
    if (this.#cancel === undefined) this.#scheduleCheck(FIRST_READ_AFTER_MS)
  }

  /** Stops the small reads while no stream is open, because only streams wait without a time-out. */
  onStreamClosed(): void {
    if (this.#userWithStreams() !== undefined) return
    this.#cancel?.()
    this.#cancel = undefined
  }

  /** Returns a client with an open stream, because only streams need the check. */
  #userWithStreams(): NetworkPathUser | undefined {
    return [...this.#users].find(({ streams }) => streams.size > 0)
  }

  *#connections(): Generator<HttpConnection> {
    for (const user of this.#users) yield* user.connections()
    if (this.#readConnection !== undefined) yield this.#readConnection.connection
  }

  #streams(): HttpConnection[] {
    return [...this.#users].flatMap(({ streams }) => [...streams])
  }

  #scheduleCheck(ms: number): void {
    if (this.#userWithStreams() !== undefined) this.#cancel = this.#clock.schedule(ms, () => this.#check())
  }

  #check(): void {
    this.#cancel = undefined
    const now = this.#clock.monotonic()
    const dueAt = this.#nextReadAt()
    const user = this.#userWithStreams()
    if (dueAt > now || user === undefined) {
      this.#scheduleCheck(dueAt - now)
      return
    }
    this.#lastReadAt = now
    void this.#read(user).finally(() => {
      if (this.#cancel === undefined)
        this.#scheduleCheck(Math.max(now + QUIET_BEFORE_READ_MS - this.#clock.monotonic(), 0))
    })
  }

  #nextReadAt(): number {
    const withLease = this.#leaseAnsweredAt + QUIET_BEFORE_READ_MS
    const again = Math.max(withLease, this.#lastReadAt + QUIET_BEFORE_READ_MS)
    return this.#readConnection === undefined ? again : Math.max(again, this.#heardAt() + QUIET_BEFORE_READ_MS)
  }

  /** Returns the time when the server last sent bytes on a connection that is not newer than the oldest stream. */
  #heardAt(): number {
    const oldest = Math.min(...this.#streams().map(({ openedAt }) => openedAt))
    let heardAt = Number.NEGATIVE_INFINITY
    for (const connection of this.#connections()) {
      if (connection.openedAt <= oldest + OPENED_TOGETHER_MS) heardAt = Math.max(heardAt, connection.lastHeardAt)
    }
    return heardAt
  }

  async #read(user: NetworkPathUser): Promise<void> {
    using limit = deadline(this.#clock, READ_TIMEOUT_MS, { operation: 'small read' })
    this.#currentRead = limit
    const readConnection = this.#readConnection
    const sentAt = this.#clock.monotonic()
    try {
      if (
        readConnection !== undefined &&
        (await readConnection.user.readVersion(readConnection.connection, limit.signal))
      )
        return
      await this.#readOnNewConnection(user, limit.signal)
    } catch (error) {
      this.#log.v(4)?.info('No answer to a small read from the API server', { err: error })
      const late = limit.signal.reason instanceof DeadlineError
      if (late && readConnection !== undefined && !readConnection.connection.hasAnswered)
        this.closeSilentConnections(sentAt)
    } finally {
      this.#currentRead = undefined
    }
  }

  async #readOnNewConnection(user: NetworkPathUser, signal: AbortSignal): Promise<void> {
    const connection = await user.openConnection(signal, (lost) => {
      if (this.#readConnection?.connection === lost) this.#readConnection = undefined
    })
    this.#readConnection = { connection, user }
    await user.readVersion(connection, signal)
  }
}
