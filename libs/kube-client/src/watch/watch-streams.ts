import { type Cancel, CancelledError, type Clock, type Scope, scope } from '@csi-sidecars/base'
import type { HttpConnection } from '../http/connection.ts'
import { WatchFeed } from './watch-feed.ts'

export interface WatchStreamsOptions {
  readonly clock: Clock
  /** The version from which a stream can resume. Undefined until all existing objects were received. */
  readonly from: string | undefined
  /** The time without bytes after which a stream that cannot resume ends. */
  readonly silenceMs: number
  readonly signal: AbortSignal | undefined
  readonly onActivity: (() => void) | undefined
  /** Opens a stream. A resumed stream begins after the version `after`. */
  open(feed: WatchFeed, signal: AbortSignal, after?: string): Promise<HttpConnection>
  /** Called when a new stream has replaced a silent stream. */
  onResumed(silentMs: number): void
}

/** The time without bytes after which a second stream is opened to test the first. Bookmarks come once a minute. */
const SILENT_MS = 45_000
/** The longest test of a silent stream. A living stream receives a bookmark in this time. */
const TRIAL_MS = 30_000
/** When the new stream has received bytes, the old stream has this time to receive bytes, too. */
const TOGETHER_MS = 2000
/** The period in which a watch opens at most two second streams. */
const TWO_TRIALS_MS = 120_000

/** A second stream, opened while the first stream is silent. Its bytes are kept until one stream is chosen. */
interface Trial {
  readonly feed: WatchFeed
  readonly own: Scope
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
  readonly #own: Scope
  #feed: WatchFeed
  #connection: HttpConnection | undefined
  #from: string | undefined
  #trial: Trial | undefined
  /** The times of the last two openings of a second stream, the older time first. */
  #trials: readonly [number, number] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
  #cancelTimer: Cancel | undefined

  constructor(options: WatchStreamsOptions) {
    this.#options = options
    this.#own = scope(options.signal)
    this.#from = options.from
    this.#feed = new WatchFeed(options)
  }

  /** The current feed. It changes when the stream is resumed. */
  get feed(): WatchFeed {
    return this.#feed
  }

  async open(): Promise<void> {
    this.#connection = await this.#options.open(this.#feed, this.#own.signal)
    this.#feed.control(this.#connection)
    this.#schedule()
  }

  /** Records that all changes up to this version were read. */
  reached(version: string): void {
    const first = this.#from === undefined
    this.#from = version
    if (first) this.#schedule()
  }

  close(): void {
    this.#cancelTimer?.()
    this.#own[Symbol.dispose]()
    this.#endTrial('the watch is over')
    this.#feed.dispose()
    this.#connection?.destroy(new CancelledError('the watch is over'))
  }

  #schedule(): void {
    const { clock } = this.#options
    this.#cancelTimer?.()
    this.#cancelTimer = clock.schedule(Math.max(0, this.#dueAt() - clock.monotonic()), () => this.#check())
  }

  #dueAt(): number {
    if (this.#trial !== undefined) return this.#trial.endsAt
    if (this.#from === undefined) return this.#feed.heardAt + this.#options.silenceMs
    return Math.max(this.#feed.heardAt + SILENT_MS, this.#trials[0] + TWO_TRIALS_MS)
  }

  #check(): void {
    if (this.#feed.over !== undefined) return
    if (this.#dueAt() <= this.#options.clock.monotonic()) this.#act()
    if (this.#feed.over === undefined) this.#schedule()
  }

  #act(): void {
    const trial = this.#trial
    if (trial === undefined) {
      if (this.#from === undefined) this.#feed.silent()
      else this.#try(this.#from)
    } else if (this.#feed.heardAt > trial.beganAt) this.#endTrial('the old stream is alive')
    else if (trial.connection === undefined || trial.feed.over !== undefined) this.#feed.silent()
    else this.#replace(trial, trial.connection)
  }

  #try(from: string): void {
    const { clock, open } = this.#options
    const beganAt = clock.monotonic()
    this.#trials = [this.#trials[1], beganAt]
    const onActivity = (): void => {
      this.#options.onActivity?.()
      trial.endsAt = Math.min(trial.endsAt, clock.monotonic() + TOGETHER_MS)
      if (this.#trial === trial) this.#schedule()
    }
    const feed = new WatchFeed({ clock, onActivity })
    const trial: Trial = {
      feed,
      own: scope(this.#own.signal),
      beganAt,
      endsAt: beganAt + TRIAL_MS,
      connection: undefined,
    }
    this.#trial = trial
    open(feed, trial.own.signal, from).then(
      (connection) => {
        trial.connection = connection
        feed.control(connection)
        if (this.#trial !== trial) connection.destroy(NOT_NEEDED)
      },
      // If the second stream fails to open, the first stream still has until `endsAt` to receive bytes.
      () => undefined,
    )
  }

  #replace(trial: Trial, connection: HttpConnection): void {
    const [old, oldConnection] = [this.#feed, this.#connection]
    this.#feed = trial.feed
    this.#connection = connection
    this.#trial = undefined
    trial.own.dispose()
    this.#options.onResumed(this.#options.clock.monotonic() - old.heardAt)
    // The end of the old feed wakes the reader, which continues with the new feed.
    old.dispose()
    oldConnection?.destroy(new CancelledError('the stream was silent'))
  }

  #endTrial(why: string): void {
    const trial = this.#trial
    this.#trial = undefined
    trial?.own.abort(new CancelledError(why))
    trial?.feed.dispose()
    trial?.connection?.destroy(NOT_NEEDED)
  }
}

const NOT_NEEDED = new CancelledError('the stream is not needed')
