import type { Cancel, Clock } from '@csi-sidecars/base'
import { toError } from '@csi-sidecars/base'
import { ApiError } from './api-error.ts'
import type { EndFrame } from './client.ts'
import { exchangeError } from './http/network-error.ts'
import type { StreamSink } from './http/stream.ts'
import { LineReader } from './line-reader.ts'

/** The means to act on the connection behind a feed. */
export interface FeedControl {
  pause(): void
  resume(): void
}

export interface FeedOptions {
  readonly clock: Clock
  readonly silenceMs: number
  readonly onActivity: (() => void) | undefined
}

/** Bytes not read yet from which on the server has to wait. */
const HIGH_WATER = 512 * 1024

/** A stream between the socket that brings it and the reader that asks for its lines one by one. */
export class WatchFeed implements StreamSink {
  readonly #options: FeedOptions
  #lines = new LineReader()
  #control: FeedControl | undefined
  #paused = false
  #over: EndFrame | undefined
  #wake: (() => void) | undefined
  #silenceMs: number
  #activeAt: number
  #cancelTimer: Cancel

  constructor(options: FeedOptions) {
    this.#options = options
    this.#silenceMs = options.silenceMs
    this.#activeAt = options.clock.monotonic()
    this.#cancelTimer = options.clock.schedule(options.silenceMs, () => this.#checkSilence())
  }

  /** The oldest line not read yet. */
  shift(): string | undefined {
    try {
      const line = this.#lines.next()
      if (line === undefined) this.#resume()
      return line
    } catch (error) {
      this.#finish('badFrame', toError(error))
      return undefined
    }
  }

  /** How the stream ended; lines that came before may still be unread. */
  get over(): EndFrame | undefined {
    return this.#over
  }

  /** Resolves when more has come, or the end. For a reader that has just seen the last line there is. */
  changed(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#over !== undefined) return resolve()
      this.#wake = resolve
    })
  }

  /** From now on a shorter silence is too long: the server has shown that it sends bookmarks. */
  expectWithin(silenceMs: number): void {
    if (silenceMs >= this.#silenceMs || this.#over !== undefined) return
    this.#silenceMs = silenceMs
    this.#cancelTimer()
    this.#checkSilence()
  }

  control(control: FeedControl): void {
    this.#control = control
  }

  data(bytes: Buffer): void {
    if (this.#over !== undefined) return
    this.#activeAt = this.#options.clock.monotonic()
    this.#options.onActivity?.()
    this.#lines.push(bytes)
    if (this.#lines.waiting >= HIGH_WATER) this.#pause()
    this.#awake()
  }

  end(): void {
    if (this.#lines.partial) this.#finish('broken', new Error('unexpected EOF'))
    else this.#finish('closed')
  }

  fail(error: Error): void {
    this.#finish('broken', error)
  }

  /** Nobody reads any more. */
  dispose(): void {
    this.#finish('closed')
    this.#lines = new LineReader()
  }

  #pause(): void {
    if (this.#paused) return
    this.#paused = true
    this.#control?.pause()
  }

  #resume(): void {
    if (!this.#paused) return
    this.#paused = false
    // Silence of the reader's own making does not count.
    this.#activeAt = this.#options.clock.monotonic()
    this.#control?.resume()
  }

  #checkSilence(): void {
    const left = this.#paused ? this.#silenceMs : this.#activeAt + this.#silenceMs - this.#options.clock.monotonic()
    if (left <= 0) this.#finish('silent')
    else this.#cancelTimer = this.#options.clock.schedule(left, () => this.#checkSilence())
  }

  #finish(why: EndFrame['why'], cause?: Error): void {
    if (this.#over !== undefined) return
    this.#cancelTimer()
    this.#over = cause === undefined ? { type: 'END', why } : { type: 'END', why, error: streamError(cause) }
    this.#awake()
  }

  #awake(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }
}

function streamError(thrown: Error): ApiError {
  const cause = exchangeError(thrown)
  return new ApiError({ code: 0, reason: '', message: cause.message, cause })
}
