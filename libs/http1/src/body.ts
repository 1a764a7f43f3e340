import { constants } from 'node:buffer'
import type { HttpConnection } from './connection.ts'
import { NetworkError } from './network-error.ts'
import type { ResponseHead } from './response-parser.ts'

/** The maximum length of a body, 512 MiB, because a string cannot be longer. */
const MAX_BODY_BYTES = constants.MAX_STRING_LENGTH

/**
 * The maximum length of a refusal, of which only the message is read. A Status with hundreds of fields is still far
 * shorter.
 */
const MAX_REFUSAL_BYTES = 1024 * 1024

interface Limits {
  readonly body: number
  readonly refusal: number
}

/**
 * The body of a response in one piece. A success that is too long ends the connection. A refusal that is too long is
 * cut, because its beginning contains the reason.
 */
export class Body {
  readonly #connection: HttpConnection
  readonly #limits: Limits
  #refused = false
  #chunks: Buffer[] = []
  #length = 0

  constructor(
    connection: HttpConnection,
    { body = MAX_BODY_BYTES, refusal = MAX_REFUSAL_BYTES }: Partial<Limits> = {},
  ) {
    this.#connection = connection
    this.#limits = { body, refusal }
  }

  /** Ends the connection if the announced length of the body exceeds the limit. */
  begin(head: ResponseHead): void {
    this.#refused = head.status >= 300
    const length = Number(head.header('content-length') ?? 0)
    if (length > this.#limits.body) this.#tooLong()
  }

  /** True if the rest of a refusal need not be read. Always false for a success. */
  get isRefusalComplete(): boolean {
    return this.#refused && this.#length >= this.#limits.refusal
  }

  push(bytes: Buffer): void {
    const room = this.#limits.refusal - this.#length
    this.#length += bytes.length
    if (this.#refused) {
      // The copy of the needed bytes allows the garbage collector to free the whole chunk.
      this.#chunks.push(bytes.length > room ? Buffer.from(bytes.subarray(0, room)) : bytes)
      return
    }
    if (this.#length > this.#limits.body) this.#tooLong()
    else this.#chunks.push(bytes)
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
