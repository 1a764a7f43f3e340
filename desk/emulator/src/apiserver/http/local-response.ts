import { EventEmitter } from 'node:events'
import type { HttpResponse } from './exchange.ts'

/** The receiver of an answer inside this process. */
export interface LocalReader {
  head(code: number): void
  chunk(text: string): void
  /** `cut`: the connection broke before the answer was complete. */
  end(how: 'closed' | 'cut'): void
}

/** An answer to a reader in this process. Each chunk reaches the reader at once. */
export class LocalResponse extends EventEmitter implements HttpResponse {
  readonly writableNeedDrain = false
  readonly #reader: LocalReader
  #headersSent = false
  #over = false

  constructor(reader: LocalReader) {
    super()
    this.#reader = reader
  }

  get headersSent(): boolean {
    return this.#headersSent
  }

  /** Does nothing, because readers in this process use only the code and the body. */
  setHeader(): void {}

  flushHeaders(): void {}

  writeHead(code: number): void {
    this.#headersSent = true
    if (!this.#over) this.#reader.head(code)
  }

  write(chunk: Uint8Array): boolean {
    if (!this.#over) this.#reader.chunk(Buffer.from(chunk).toString())
    return true
  }

  end(rest: string | Uint8Array = ''): void {
    if (rest.length > 0 && !this.#over) this.#reader.chunk(Buffer.from(rest).toString())
    this.#finish('closed')
  }

  destroy(): void {
    this.#finish('cut')
  }

  #finish(how: 'closed' | 'cut'): void {
    if (this.#over) return
    this.#over = true
    this.#reader.end(how)
    this.emit('close')
  }
}
