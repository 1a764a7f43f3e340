const LINE_FEED = 10

/** The maximum length of a frame in bytes. Objects of the API are far smaller. */
export const MAX_FRAME_BYTES = 32 * 1024 * 1024

/** Cuts a stream of bytes into the frames of a watch. */
export interface ByteReader<Frame> {
  push(bytes: Buffer): void
  /** The number of unread bytes. */
  readonly unreadBytes: number
  /** True if the last frame is not complete. */
  readonly hasPartialFrame: boolean
  /** Returns the next complete frame. Throws RangeError if a frame is too long. */
  next(): Frame | undefined
}

/**
 * Cuts a stream of bytes into lines. Unread lines stay bytes, because the garbage collector would copy and keep strings
 * on the heap.
 */
export class LineReader implements ByteReader<string> {
  readonly #maxBytes: number
  readonly #chunks: Buffer[] = []
  /** The number of bytes of the first chunk that were read. */
  #from = 0
  /** The number of chunks that are known to have no line break. */
  #searchedChunks = 0
  /** The number of bytes in all chunks. */
  #bufferedBytes = 0

  constructor(maxBytes = MAX_FRAME_BYTES) {
    this.#maxBytes = maxBytes
  }

  push(bytes: Buffer): void {
    if (bytes.length === 0) return
    this.#chunks.push(bytes)
    this.#bufferedBytes += bytes.length
  }

  get unreadBytes(): number {
    return this.#bufferedBytes - this.#from
  }

  get hasPartialFrame(): boolean {
    const last = this.#chunks.at(-1)
    return last !== undefined && last[last.length - 1] !== LINE_FEED
  }

  /** Returns the next line that is not empty. */
  next(): string | undefined {
    for (
      let chunk = this.#chunks[this.#searchedChunks];
      chunk !== undefined;
      chunk = this.#chunks[this.#searchedChunks]
    ) {
      const end = chunk.indexOf(LINE_FEED, this.#searchedChunks === 0 ? this.#from : 0)
      if (end >= 0) {
        const text = this.#consume(chunk, end)
        if (text !== '' && text !== '\r') return text
      } else {
        this.#searchedChunks += 1
      }
    }
    if (this.unreadBytes > this.#maxBytes) throw new RangeError(`a line is longer than ${this.#maxBytes} bytes`)
    return undefined
  }

  /** Returns the text up to `end` in the chunk that was searched last, and removes this text. */
  #consume(chunk: Buffer, end: number): string {
    const last = this.#searchedChunks
    const text = last === 0 ? chunk.toString('utf8', this.#from, end) : this.#join(chunk.subarray(0, end))
    if (last > 0) this.#drop(last)
    this.#from = end + 1
    if (this.#from === chunk.length) this.#drop(1)
    return text
  }

  #drop(count: number): void {
    for (const chunk of this.#chunks.splice(0, count)) this.#bufferedBytes -= chunk.length
    this.#from = 0
    this.#searchedChunks = 0
  }

  #join(end: Buffer): string {
    const [first, ...rest] = this.#chunks.slice(0, this.#searchedChunks)
    return Buffer.concat([...(first === undefined ? [] : [first.subarray(this.#from)]), ...rest, end]).toString('utf8')
  }
}
