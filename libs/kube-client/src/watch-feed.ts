import type { Cancel, Clock } from '@csi-sidecars/base'
import { toError } from '@csi-sidecars/base'
import { ApiError } from './api-error.ts'
import type { EndFrame } from './client.ts'
import { FrameReader } from './frame-reader.ts'
import { exchangeError } from './http/network-error.ts'
import type { ResponseHead } from './http/response-parser.ts'
import type { StreamSink } from './http/stream.ts'
import { type ByteReader, LineReader } from './line-reader.ts'
import { isProtobuf, type Span } from './protobuf.ts'

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

/** Whoever wants to hear of activity asks for seconds, and a list brings thousands of chunks in one. */
const TOLD_AGAIN_MS = 100

/** Bytes not read yet from which on the server has to wait. */
const HIGH_WATER = 512 * 1024

/** A stream between the socket that brings it and the reader that asks for its frames one by one. */
export class WatchFeed implements StreamSink {
  readonly #options: FeedOptions
  #frames: ByteReader<string | Span> = new LineReader()
  #control: FeedControl | undefined
  #paused = false
  #over: EndFrame | undefined
  #wake: (() => void) | undefined
  #silenceMs: number
  #activeAt: number
  #toldAt = Number.NEGATIVE_INFINITY
  #cancelTimer: Cancel

  constructor(options: FeedOptions) {
    this.#options = options
    this.#silenceMs = options.silenceMs
    this.#activeAt = options.clock.monotonic()
    this.#cancelTimer = options.clock.schedule(options.silenceMs, () => this.#checkSilence())
  }

  /** The oldest frame not read yet: a line of JSON, or a message. */
  shift(): string | Span | undefined {
    try {
      const frame = this.#frames.next()
      if (frame === undefined) this.#resume()
      return frame
    } catch (error) {
      this.#finish('badFrame', toError(error))
      return undefined
    }
  }

  /** How the stream ended; frames that came before may still be unread. */
  get over(): EndFrame | undefined {
    return this.#over
  }

  /** Resolves when more has come, or the end. For a reader that has just seen the last frame there is. */
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

  begin(head: ResponseHead): void {
    if (isProtobuf(head.header('content-type'))) this.#frames = new FrameReader()
  }

  data(bytes: Buffer): void {
    if (this.#over !== undefined) return
    this.#tellActivity()
    this.#frames.push(bytes)
    if (this.#frames.waiting >= HIGH_WATER) this.#pause()
    this.#awake()
  }

  end(): void {
    if (this.#frames.partial) this.#finish('broken', new Error('unexpected EOF'))
    else this.#finish('closed')
  }

  fail(error: Error): void {
    this.#finish('broken', error)
  }

  /** Nobody reads any more. */
  dispose(): void {
    this.#finish('closed')
    this.#frames = new LineReader()
  }

  #tellActivity(): void {
    this.#activeAt = this.#options.clock.monotonic()
    if (this.#activeAt - this.#toldAt < TOLD_AGAIN_MS) return
    this.#toldAt = this.#activeAt
    this.#options.onActivity?.()
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
