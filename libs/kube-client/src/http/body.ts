import { constants } from 'node:buffer'
import type { Connection } from './connection.ts'
import { NetworkError } from './network-error.ts'
import type { ResponseHead } from './response-parser.ts'

/** 512 MiB: no longer text can be made of bytes. */
const LONGEST_BODY = constants.MAX_STRING_LENGTH

/** The body of a response in one piece. One that is too long ends the connection, and the exchange with it. */
export class Body {
  readonly #connection: Connection
  readonly #longest: number
  #chunks: Buffer[] = []
  #length = 0

  constructor(connection: Connection, longest = LONGEST_BODY) {
    this.#connection = connection
    this.#longest = longest
  }

  /** What is announced to be too long is not read at all. */
  announced(head: ResponseHead): void {
    const length = Number(head.header('content-length') ?? 0)
    if (length > this.#longest) this.#refuse()
  }

  push(bytes: Buffer): void {
    this.#length += bytes.length
    if (this.#length > this.#longest) this.#refuse()
    else this.#chunks.push(bytes)
  }

  bytes(): Buffer {
    const [first] = this.#chunks
    return first === undefined || this.#chunks.length > 1 ? Buffer.concat(this.#chunks) : first
  }

  #refuse(): void {
    this.#chunks = []
    this.#connection.destroy(new NetworkError(`the answer is longer than ${this.#longest} bytes`))
  }
}
