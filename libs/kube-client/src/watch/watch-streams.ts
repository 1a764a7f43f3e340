import { type Cancel, CancelledError, type Clock, type Scope, scope } from '@csi-sidecars/base'
import type { HttpConnection } from '../http/connection.ts'
import { WatchFeed } from './watch-feed.ts'

export interface WatchStreamsOptions {
  readonly clock: Clock
  /** Where a stream may be resumed; undefined until everything that exists has come. */
  readonly from: string | undefined
  /** A stream that cannot be resumed is given up when nothing came for this time. */
  readonly silenceMs: number
  readonly signal: AbortSignal | undefined
  readonly onActivity: (() => void) | undefined
  /** Opens a stream; one that is resumed begins after a version. */
  open(feed: WatchFeed, signal: AbortSignal, after?: string): Promise<HttpConnection>
  /** The stream was silent, and another one has taken its place. */
  onResumed(silentMs: number): void
}

/** After this time without a byte it is found out whether the stream is alive. Bookmarks come once a minute. */
const SILENT_MS = 45_000
/** A stream that is alive brings its bookmark in this time. */
const TRIAL_MS = 30_000
/** What a new stream brings the old one, if it is alive, brings in this time as well. */
const TOGETHER_MS = 2000
/** No more than two trials in this time. */
const TWO_TRIALS_MS = 120_000

/** A stream that is resumed beside the silent one. Its bytes are kept, and nothing of them is read yet. */
interface Trial {
  readonly feed: WatchFeed
  readonly own: Scope
  readonly beganAt: number
  endsAt: number
  connection: HttpConnection | undefined
}

/**
 * The stream of a watch. Nothing on the way reports that a server has died: a proxy answers TCP keep-alive itself, and
 * HTTP/1.1 carries no second request on the connection of a stream. So one that is silent is resumed, from the last
 * version, on a new connection. The first that brings something stays: if it is the old one, nothing has happened; if
 * it is the new one, it begins where the old one has ended, so nothing is missed and nothing comes twice.
 */
export class WatchStreams {
  readonly #options: WatchStreamsOptions
  readonly #own: Scope
  #feed: WatchFeed
  #connection: HttpConnection | undefined
  #from: string | undefined
  #trial: Trial | undefined
  /** When the last two trials began, the older one first. */
  #trials: readonly [number, number] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
  #cancelTimer: Cancel | undefined

  constructor(options: WatchStreamsOptions) {
    this.#options = options
    this.#own = scope(options.signal)
    this.#from = options.from
    this.#feed = new WatchFeed(options)
  }

  /** What is read from now; another one once the stream was resumed. */
  get feed(): WatchFeed {
    return this.#feed
  }

  async open(): Promise<void> {
    this.#connection = await this.#options.open(this.#feed, this.#own.signal)
    this.#feed.control(this.#connection)
    this.#schedule()
  }

  /** Everything up to this version was read. */
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
      // A server that refuses has answered; the old stream is checked when the time of the trial is over.
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
    // This also wakes the reader, who continues with the new one.
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
