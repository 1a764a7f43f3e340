import { constants } from 'node:buffer'
import type { HttpConnection } from './connection.ts'
import { NetworkError } from './network-error.ts'
import type { ResponseHead } from './response-parser.ts'

/** 512 MiB: no longer text can be made of bytes. */
const LONGEST_BODY = constants.MAX_STRING_LENGTH

/** Of a refusal only its message is read; a Status that names hundreds of fields is still far shorter. */
const LONGEST_REFUSAL = 1024 * 1024

interface Limits {
  readonly body: number
  readonly refusal: number
}

/**
 * The body of a response in one piece. A success that is too long ends the connection, and the exchange with it. Of a
 * refusal that is too long the beginning is kept: what it refuses is known without the rest.
 */
export class Body {
  readonly #connection: HttpConnection
  readonly #limits: Limits
  #refused = false
  #chunks: Buffer[] = []
  #length = 0

  constructor(connection: HttpConnection, { body = LONGEST_BODY, refusal = LONGEST_REFUSAL }: Partial<Limits> = {}) {
    this.#connection = connection
    this.#limits = { body, refusal }
  }

  /** What is announced to be longer than any text is not read at all. */
  announced(head: ResponseHead): void {
    this.#refused = head.status >= 300
    const length = Number(head.header('content-length') ?? 0)
    if (length > this.#limits.body) this.#tooLong()
  }

  /** Whether more is wanted: false as soon as enough of a refusal is there. */
  push(bytes: Buffer): boolean {
    const room = this.#limits.refusal - this.#length
    this.#length += bytes.length
    if (this.#refused) {
      // A copy: the rest of what came with it is not kept.
      this.#chunks.push(bytes.length > room ? Buffer.from(bytes.subarray(0, room)) : bytes)
      return this.#length < this.#limits.refusal
    }
    if (this.#length > this.#limits.body) this.#tooLong()
    else this.#chunks.push(bytes)
    return true
  }

  bytes(): Buffer {
    const [first] = this.#chunks
    return first === undefined || this.#chunks.length > 1 ? Buffer.concat(this.#chunks) : first
  }

  #tooLong(): void {
    this.#chunks = []
    this.#connection.destroy(new NetworkError(`the answer is longer than ${this.#limits.body} bytes`))
  }
}
