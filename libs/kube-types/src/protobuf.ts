/** The error for bytes that do not fit their message type. It quotes no bytes, because they may be secret. */
export class ProtobufError extends Error {
  override readonly name = 'ProtobufError'
}

const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

/** This bit is set in a byte if the number continues in the next byte. */
const CONTINUATION_BIT = 0x80
/** The number of bytes of the longest varint. */
const MAX_VARINT_BYTES = 10

interface Utf8Bytes extends Buffer {
  utf8Slice(from: number, to: number): string
}

/** Returns bytes as text. `toString` would read the name of the encoding each time, which takes a third longer. */
export function textIn(bytes: Buffer, from: number, to: number): string {
  return (bytes as Utf8Bytes).utf8Slice(from, to)
}

/**
 * Reads messages from bytes, field by field. Each method gets the end of its message, and throws a ProtobufError before
 * it reads beyond the end.
 */
export class ProtobufReader {
  readonly #bytes: Buffer
  at: number
  /** The tag that was read last. */
  #tag = 0

  constructor(bytes: Buffer, from = 0) {
    this.#bytes = bytes
    this.at = from
  }

  get length(): number {
    return this.#bytes.length
  }

  /** Reads the tag of the next field: its number and wire type as `number * 8 + type`. */
  tag(end: number): number {
    this.#tag = this.#unsigned(end)
    return this.#tag
  }

  /** Skips the value of the field whose tag was read last. */
  skip(end: number): void {
    switch (this.#tag & 7) {
      case VARINT:
        this.#unsigned(end)
        return
      case FIXED64:
        this.at += 8
        break
      case BYTES:
        this.at = this.fieldEnd(end)
        return
      case FIXED32:
        this.at += 4
        break
      default:
        throw new ProtobufError(`proto: illegal wireType ${this.#tag & 7}`)
    }
    if (this.at > end) throw truncated()
  }

  /** Reads the length of a value, and returns the position where the value ends. */
  fieldEnd(end: number): number {
    const to = this.#unsigned(end) + this.at
    if (to > end) throw truncated()
    return to
  }

  text(end: number): string {
    const to = this.fieldEnd(end)
    const text = textIn(this.#bytes, this.at, to)
    this.at = to
    return text
  }

  bytes(end: number): Buffer {
    const to = this.fieldEnd(end)
    const bytes = this.#bytes.subarray(this.at, to)
    this.at = to
    return bytes
  }

  bool(end: number): boolean {
    return this.#unsigned(end) !== 0
  }

  /** Reads a number with a sign, which is exact up to 2^53. */
  int(end: number): number {
    const from = this.at
    const value = this.#unsigned(end)
    // A negative number takes all ten bytes: it is written as 2^64 plus the number.
    return this.at - from === MAX_VARINT_BYTES ? this.#negative(from) : value
  }

  #unsigned(end: number): number {
    let at = this.at
    let byte = this.#bytes[at] ?? CONTINUATION_BIT
    at += 1
    let value = byte & 0x7f
    for (let scale = 128; byte >= CONTINUATION_BIT; scale *= 128) {
      if (at >= end) throw truncated()
      if (at - this.at === MAX_VARINT_BYTES) throw new ProtobufError('proto: integer overflow')
      byte = this.#bytes[at] ?? 0
      at += 1
      value += (byte & 0x7f) * scale
    }
    if (at > end) throw truncated()
    this.at = at
    return value
  }

  #negative(from: number): number {
    let missing = 1
    let scale = 1
    for (let at = from; at < from + MAX_VARINT_BYTES - 1; at += 1, scale *= 128) {
      missing += (~(this.#bytes[at] ?? 0) & 0x7f) * scale
    }
    return -missing
  }
}

function truncated(): ProtobufError {
  return new ProtobufError('unexpected EOF')
}
