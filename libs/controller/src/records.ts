import type { Failure } from './failure.ts'

/** What is remembered of a key from its first addition until nothing is owed for it any more. */
export interface KeyRecord {
  /** Milliseconds since 1970. */
  readonly addedAt: number
  /** Runs that have begun. */
  tries: number
  failure: Failure | undefined
  /** The last run has failed, and is to be repeated. */
  retrying: boolean
  /** No retry helps: only what it waits for does. */
  blocked: boolean
}

/** The records of a queue's keys. A key that is settled has none. */
export class Records {
  readonly #records = new Map<string, KeyRecord>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  get(key: string): KeyRecord | undefined {
    return this.#records.get(key)
  }

  entries(): Iterable<[string, KeyRecord]> {
    return this.#records
  }

  /** The key's record, which begins now if it has none. */
  of(key: string): KeyRecord {
    const known = this.#records.get(key)
    if (known !== undefined) return known
    const record: KeyRecord = { addedAt: this.#now(), tries: 0, failure: undefined, retrying: false, blocked: false }
    this.#records.set(key, record)
    return record
  }

  /** Other work is wanted of the key from now on. */
  renew(key: string): void {
    if (this.#records.delete(key)) this.of(key)
  }

  delete(key: string): void {
    this.#records.delete(key)
  }
}
