import type { Clock } from '@csi-sidecars/base'
import { toError } from '@csi-sidecars/base'
import { exchangeError, type ResponseHead, type StreamSink } from '@csi-sidecars/http1'
import { ApiError } from '../api/api-error.ts'
import type { EndFrame } from '../api/client.ts'
import { type ByteSpan, isProtobuf } from '../codec/protobuf.ts'
import { FrameReader } from './frame-reader.ts'
import { type ByteReader, LineReader } from './line-reader.ts'

/** Stops and continues the reading from the network. */
export interface FeedControl {
  pause(): void
  resume(): void
}

/** The clock of a feed of watch events, and the function that it calls while bytes arrive. */
export interface FeedOptions {
  readonly clock: Clock
  readonly onActivity: (() => void) | undefined
}

/** The minimum time between two calls of `onActivity`. A list brings thousands of chunks in one second. */
const REPORT_INTERVAL_MS = 100

/** The number of unread bytes from which the connection is paused. */
const MAX_BUFFERED_BYTES = 512 * 1024

/** A buffer between the socket of a watch and its reader. The reader takes one frame after the other. */
export class WatchFeed implements StreamSink {
  readonly #options: FeedOptions
  #frames: ByteReader<string | ByteSpan> = new LineReader()
  #control: FeedControl | undefined
  #paused = false
  #endFrame: EndFrame | undefined
  #wake: (() => void) | undefined
  #activeAt: number
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor(options: FeedOptions) {
    this.#options = options
    this.#activeAt = options.clock.monotonic()
  }

  /** Returns the oldest unread frame: a line of JSON or a protobuf message. */
  nextFrame(): string | ByteSpan | undefined {
    try {
      const frame = this.#frames.next()
      if (frame === undefined) this.#resume()
      return frame
    } catch (error) {
      this.#finish('badFrame', toError(error))
      return undefined
    }
  }

  /** The stream's end, undefined while it lasts. Earlier frames may still be unread. */
  get endFrame(): EndFrame | undefined {
    return this.#endFrame
  }

  /** Resolves when bytes arrive or the stream ends. Call it after an undefined `nextFrame`. */
  whenChanged(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#endFrame !== undefined) return resolve()
      this.#wake = resolve
    })
  }

  /** The time of the last bytes; the current time while the connection is paused. */
  get heardAt(): number {
    return this.#paused ? this.#options.clock.monotonic() : this.#activeAt
  }

  /** Ends the stream, because it was silent for too long. */
  endAsSilent(): void {
    this.#finish('silent')
  }

  setControl(control: FeedControl): void {
    this.#control = control
  }

  begin(head: ResponseHead): void {
    this.#activeAt = this.#options.clock.monotonic()
    if (isProtobuf(head.header('content-type'))) this.#frames = new FrameReader()
  }

  data(bytes: Buffer): void {
    if (this.#endFrame !== undefined) return
    this.#reportActivity()
    this.#frames.push(bytes)
    if (this.#frames.unreadBytes >= MAX_BUFFERED_BYTES) this.#pause()
    this.#wakeReader()
  }

  end(): void {
    if (this.#frames.hasPartialFrame) this.#finish('broken', new Error('unexpected EOF'))
    else this.#finish('closed')
  }

  fail(error: Error): void {
    this.#finish('broken', error)
  }

  /** Ends the stream and drops its frames, because the reader has stopped. */
  dispose(): void {
    this.#finish('closed')
    this.#frames = new LineReader()
  }

  #reportActivity(): void {
    this.#activeAt = this.#options.clock.monotonic()
    if (this.#activeAt - this.#reportedAt < REPORT_INTERVAL_MS) return
    this.#reportedAt = this.#activeAt
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
    this.#activeAt = this.#options.clock.monotonic()
    this.#control?.resume()
  }

  #finish(why: EndFrame['why'], cause?: Error): void {
    if (this.#endFrame !== undefined) return
    this.#endFrame = cause === undefined ? { type: 'END', why } : { type: 'END', why, error: streamError(cause) }
    this.#wakeReader()
  }

  #wakeReader(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }
}

function streamError(thrown: Error): ApiError {
  const cause = exchangeError(thrown)
  return new ApiError({ code: 0, reason: '', message: cause.message, cause })
}
