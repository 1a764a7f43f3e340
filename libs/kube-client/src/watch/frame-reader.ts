import type { ByteSpan } from '../codec/protobuf.ts'
import { type ByteReader, MAX_FRAME_BYTES } from './line-reader.ts'

/** The number of bytes before each frame, which contain its length. */
const HEADER_BYTES = 4
const INITIAL_BYTES = 16 * 1024
/**
 * The largest buffer that is kept when all bytes were read. A larger buffer, after a long list, would otherwise exist
 * as long as the watch.
 */
const MAX_KEPT_BYTES = 64 * 1024
const NOTHING: Buffer = Buffer.alloc(0)

/** Cuts a stream of bytes into frames. The bytes of a frame are valid until the next `push`. */
export class FrameReader implements ByteReader<ByteSpan> {
  readonly #maxBytes: number
  /** A buffer with all unread bytes, from `#from` to `#to`. */
  #bytes = NOTHING
  #from = 0
  #to = 0

  constructor(maxBytes = MAX_FRAME_BYTES) {
    this.#maxBytes = maxBytes
  }

  push(bytes: Buffer): void {
    if (this.#to + bytes.length > this.#bytes.length) this.#makeRoom(bytes.length)
    bytes.copy(this.#bytes, this.#to)
    this.#to += bytes.length
  }

  /** The size of the buffer in bytes. */
  get bufferedBytes(): number {
    return this.#bytes.length
  }

  get unreadBytes(): number {
    return this.#to - this.#from
  }

  get hasPartialFrame(): boolean {
    let at = this.#from
    while (at + HEADER_BYTES <= this.#to) at += HEADER_BYTES + this.#bytes.readUInt32BE(at)
    return at !== this.#to
  }

  next(): ByteSpan | undefined {
    if (this.unreadBytes < HEADER_BYTES) return undefined
    const length = this.#bytes.readUInt32BE(this.#from)
    if (length > this.#maxBytes) throw new RangeError(`a frame is longer than ${this.#maxBytes} bytes`)
    const from = this.#from + HEADER_BYTES
    if (from + length > this.#to) return undefined
    const frame = { bytes: this.#bytes, from, to: from + length }
    this.#from = frame.to
    if (this.#from === this.#to) this.#reset()
    return frame
  }

  #reset(): void {
    this.#from = 0
    this.#to = 0
    if (this.#bytes.length > MAX_KEPT_BYTES) this.#bytes = NOTHING
  }

  #makeRoom(bytes: number): void {
    const { unreadBytes } = this
    const size = this.#bytes.length
    const grown =
      unreadBytes + bytes <= size
        ? this.#bytes
        : Buffer.allocUnsafeSlow(Math.max(unreadBytes + bytes, size * 2, INITIAL_BYTES))
    this.#bytes.copy(grown, 0, this.#from, this.#to)
    this.#bytes = grown
    this.#from = 0
    this.#to = unreadBytes
  }
}
