import { type Cancel, CancelledError, type Clock, type Scope, scope } from '@csi-sidecars/base'
import type { HttpConnection } from '@csi-sidecars/http1'
import { WatchFeed } from './watch-feed.ts'

/** How a watch replaces a stream that is silent. */
export interface WatchStreamsOptions {
  readonly clock: Clock
  /** The version to resume from. Undefined until all existing objects were received. */
  readonly resumeVersion: string | undefined
  /** The time without bytes after which a stream that cannot resume ends. */
  readonly silenceMs: number
  readonly signal: AbortSignal | undefined
  readonly onActivity: (() => void) | undefined
  /** Opens a stream. A resumed stream begins after the version `resumeVersion`. */
  open(feed: WatchFeed, signal: AbortSignal, resumeVersion?: string): Promise<HttpConnection>
  /** Called when a new stream has replaced a silent stream. */
  onResumed(silentMs: number): void
}

/** The time without bytes after which a second stream is opened to test the first. Bookmarks come once a minute. */
const SILENT_AFTER_MS = 45_000
/** The longest test of a silent stream. A living stream receives a bookmark in this time. */
const MAX_REPLACEMENT_TEST_MS = 30_000
/** When the new stream has received bytes, the old stream has this time to receive bytes, too. */
const TEST_AFTER_FIRST_DATA_MS = 2000
/** The period in which a watch opens at most two second streams. */
const MIN_PERIOD_OF_TWO_OPENINGS_MS = 120_000

/** A second stream, opened while the first stream is silent. Its bytes are kept until one stream is chosen. */
interface ReplacementStream {
  readonly feed: WatchFeed
  readonly streamScope: Scope
  readonly beganAt: number
  endsAt: number
  connection: HttpConnection | undefined
}

/**
 * The stream of a watch. Nothing reports the death of a server behind a proxy: the proxy answers TCP keep-alive, and
 * HTTP/1.1 allows no second request on the connection.
 *
 * If a stream is silent, a second stream resumes it from the last version on a new connection. If the old stream
 * receives bytes, it stays. Otherwise the new stream replaces it and continues at the same version, so no change is
 * lost or comes twice. If no new stream opens, the watch ends as silent.
 */
export class WatchStreams {
  readonly #options: WatchStreamsOptions
  readonly #scope: Scope
  #feed: WatchFeed
  #connection: HttpConnection | undefined
  #resumeVersion: string | undefined
  #replacement: ReplacementStream | undefined
  /** The times of the last two openings of a second stream, oldest first. */
  #lastOpenings: readonly [number, number] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
  #cancelTimer: Cancel | undefined

  constructor(options: WatchStreamsOptions) {
    this.#options = options
    this.#scope = scope(options.signal)
    this.#resumeVersion = options.resumeVersion
    this.#feed = new WatchFeed(options)
  }

  /** The current feed. It changes when the stream is resumed. */
  get feed(): WatchFeed {
    return this.#feed
  }

  async open(): Promise<void> {
    this.#connection = await this.#options.open(this.#feed, this.#scope.signal)
    this.#feed.setControl(this.#connection)
    this.#schedule()
  }

  /** Records that all changes up to this version were read. */
  advanceTo(version: string): void {
    const first = this.#resumeVersion === undefined
    this.#resumeVersion = version
    if (first) this.#schedule()
  }

  close(): void {
    this.#cancelTimer?.()
    this.#scope[Symbol.dispose]()
    this.#dropReplacement('the watch is over')
    this.#feed.dispose()
    this.#connection?.destroy(new CancelledError('the watch is over'))
  }

  #schedule(): void {
    const { clock } = this.#options
    this.#cancelTimer?.()
    this.#cancelTimer = clock.schedule(Math.max(0, this.#nextCheckAt() - clock.monotonic()), () => this.#check())
  }

  #nextCheckAt(): number {
    if (this.#replacement !== undefined) return this.#replacement.endsAt
    if (this.#resumeVersion === undefined) return this.#feed.heardAt + this.#options.silenceMs
    return Math.max(this.#feed.heardAt + SILENT_AFTER_MS, this.#lastOpenings[0] + MIN_PERIOD_OF_TWO_OPENINGS_MS)
  }

  #check(): void {
    if (this.#feed.endFrame !== undefined) return
    if (this.#nextCheckAt() <= this.#options.clock.monotonic()) this.#actOnSilence()
    if (this.#feed.endFrame === undefined) this.#schedule()
  }

  #actOnSilence(): void {
    const replacement = this.#replacement
    if (replacement === undefined) {
      if (this.#resumeVersion === undefined) this.#feed.endAsSilent()
      else this.#openReplacement(this.#resumeVersion)
    } else if (this.#feed.heardAt > replacement.beganAt) this.#dropReplacement('the old stream is alive')
    else if (replacement.connection === undefined || replacement.feed.endFrame !== undefined) this.#feed.endAsSilent()
    else this.#replace(replacement, replacement.connection)
  }

  #openReplacement(resumeVersion: string): void {
    const { clock, open } = this.#options
    const beganAt = clock.monotonic()
    this.#lastOpenings = [this.#lastOpenings[1], beganAt]
    const onActivity = (): void => {
      this.#options.onActivity?.()
      replacement.endsAt = Math.min(replacement.endsAt, clock.monotonic() + TEST_AFTER_FIRST_DATA_MS)
      if (this.#replacement === replacement) this.#schedule()
    }
    const feed = new WatchFeed({ clock, onActivity })
    const replacement: ReplacementStream = {
      feed,
      streamScope: scope(this.#scope.signal),
      beganAt,
      endsAt: beganAt + MAX_REPLACEMENT_TEST_MS,
      connection: undefined,
    }
    this.#replacement = replacement
    open(feed, replacement.streamScope.signal, resumeVersion).then(
      (connection) => {
        replacement.connection = connection
        feed.setControl(connection)
        if (this.#replacement !== replacement) connection.destroy(NOT_NEEDED)
      },
      // If the second stream fails to open, the first stream still has until `endsAt` to receive bytes.
      () => undefined,
    )
  }

  #replace(replacement: ReplacementStream, connection: HttpConnection): void {
    const [old, oldConnection] = [this.#feed, this.#connection]
    this.#feed = replacement.feed
    this.#connection = connection
    this.#replacement = undefined
    replacement.streamScope.dispose()
    this.#options.onResumed(this.#options.clock.monotonic() - old.heardAt)
    // The end of the old feed wakes the reader, which continues with the new feed.
    old.dispose()
    oldConnection?.destroy(new CancelledError('the stream was silent'))
  }

  #dropReplacement(why: string): void {
    const replacement = this.#replacement
    this.#replacement = undefined
    replacement?.streamScope.abort(new CancelledError(why))
    replacement?.feed.dispose()
    replacement?.connection?.destroy(NOT_NEEDED)
  }
}

const NOT_NEEDED = new CancelledError('the stream is not needed')
