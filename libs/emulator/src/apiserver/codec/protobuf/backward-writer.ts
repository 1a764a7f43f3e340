const FIRST_SIZE = 4096

/**
 * Writes messages from end to beginning: a message's length is known when it has to be written. What is written last
 * comes first.
 */
export class BackwardWriter {
  #buffer = Buffer.allocUnsafe(FIRST_SIZE)
  #at = FIRST_SIZE

  get length(): number {
    return this.#buffer.length - this.#at
  }

  /** All that was written; the writer is empty again. */
  take(): Buffer {
    // Not from Node's pool: a small result would keep the whole block of the pool in memory.
    const bytes = Buffer.allocUnsafeSlow(this.length)
    this.#buffer.copy(bytes, 0, this.#at)
    this.#at = this.#buffer.length
    return bytes
  }

  varint(value: bigint | number): void {
    this.#room(LONGEST_VARINT)
    let rest = BigInt.asUintN(64, BigInt(value))
    const bytes: number[] = []
    for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
    bytes.push(Number(rest))
    this.#at -= bytes.length
    this.#buffer.set(bytes, this.#at)
  }

  bytes(bytes: Uint8Array): void {
    this.#room(bytes.length)
    this.#at -= bytes.length
    this.#buffer.set(bytes, this.#at)
  }

  text(text: string): void {
    const length = Buffer.byteLength(text)
    this.#room(length)
    this.#at -= length
    this.#buffer.write(text, this.#at)
  }

  /** The key of a field whose value has been written, with the length of the value where it has one. */
  numberKey(number: number): void {
    this.varint(number * 8)
  }

  lengthKey(number: number, lengthBefore: number): void {
    this.varint(this.length - lengthBefore)
    this.varint(number * 8 + 2)
  }

  #room(bytes: number): void {
    if (bytes <= this.#at) return
    const size = Math.max(this.#buffer.length * 2, this.length + bytes)
    const grown = Buffer.allocUnsafe(size)
    const at = size - this.length
    this.#buffer.copy(grown, at, this.#at)
    this.#buffer = grown
    this.#at = at
  }
}

const LONGEST_VARINT = 10
