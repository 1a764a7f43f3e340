const LINE_FEED = 10

/** A line that never ends must not eat the memory. Objects of the API are far smaller. */
const LONGEST_LINE = 32 * 1024 * 1024

/** Cuts a stream of bytes into lines. What is not complete yet is copied once, when it is. */
export class LineSplitter {
  readonly #line: (text: string) => void
  readonly #longest: number
  #parts: Buffer[] = []
  #length = 0

  /** Calls `line` for each complete line that is not empty. */
  constructor(line: (text: string) => void, longest = LONGEST_LINE) {
    this.#line = line
    this.#longest = longest
  }

  /** Throws RangeError when a line is too long. */
  push(bytes: Buffer): void {
    let from = 0
    for (let end = bytes.indexOf(LINE_FEED); end >= 0; end = bytes.indexOf(LINE_FEED, from)) {
      const text = this.#parts.length === 0 ? bytes.toString('utf8', from, end) : this.#join(bytes.subarray(from, end))
      from = end + 1
      if (text !== '' && text !== '\r') this.#line(text)
    }
    if (from < bytes.length) this.#keep(bytes.subarray(from))
  }

  /** Whether there are bytes of a line that is not complete. */
  get partial(): boolean {
    return this.#length > 0
  }

  #keep(rest: Buffer): void {
    this.#parts.push(rest)
    this.#length += rest.length
    if (this.#length > this.#longest) throw new RangeError(`a line is longer than ${this.#longest} bytes`)
  }

  #join(last: Buffer): string {
    const text = Buffer.concat([...this.#parts, last], this.#length + last.length).toString('utf8')
    this.#parts = []
    this.#length = 0
    return text
  }
}
