import { abortable, type Clock, deadline } from '@csi-sidecars/base'

interface LogLimits {
  readonly entries: number
  /** The largest total size of all entries in bytes, as reported to `note`. */
  readonly bytes: number
}

const DEFAULT_LIMITS: LogLimits = { entries: 20_000, bytes: 64 * 1024 * 1024 }

/** A request that has no complete answer yet. */
export interface OpenExchange<Entry> {
  /** The entry in the log. */
  readonly entry: Entry
  /** Adds properties to the log entry. `bytes` is their size. */
  note(facts: Partial<Entry>, bytes?: number): void
  /** Marks the log entry as ended. Only the first call has an effect. */
  end(facts: Partial<Entry>): void
}

interface LogParts<Entry, Match> {
  readonly clock: Clock
  /** The plural noun for the entries in messages, such as `requests`. */
  readonly noun: string
  readonly fits: (entry: Entry, match: Match) => boolean
  /** Reports whether `until` counts an entry. By default it counts every entry, even without an answer. */
  readonly counts?: (entry: Entry) => boolean
  readonly limits?: Partial<LogLimits>
}

/** The requests to a server, in the order in which they began. The log keeps the newest entries within its limits. */
export class ExchangeLog<Entry extends object, Match extends object> {
  readonly #options: LogParts<Entry, Match>
  readonly #limits: LogLimits
  readonly #entries: Entry[] = []
  readonly #listeners = new Set<(entry: Entry, ended: boolean) => void>()
  readonly #sizes = new WeakMap<Entry, number>()
  #bytes = 0
  #total = 0
  #inFlight = 0
  #mostInFlight = 0

  constructor(options: LogParts<Entry, Match>) {
    this.#options = options
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits }
  }

  /** The number of all requests, including those whose entries are dropped. */
  get total(): number {
    return this.#total
  }

  /** False if the log keeps no entries. It still counts requests and calls its listeners. */
  get keeps(): boolean {
    return this.#limits.entries > 0
  }

  get entries(): readonly Entry[] {
    return this.#entries
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** The largest number of requests that were unanswered at the same time. */
  get mostInFlight(): number {
    return this.#mostInFlight
  }

  matching(match: Match): readonly Entry[] {
    return this.#entries.filter((entry) => this.#options.fits(entry, match))
  }

  clear(): void {
    this.#drop(this.#entries.length)
  }

  /** Resolves with the first `count` entries that match, including past entries. */
  async until(match: Match, options: { count?: number; timeoutMs?: number } = {}): Promise<readonly Entry[]> {
    const { count = 1, timeoutMs = 10_000 } = options
    const { clock, noun, counts = () => true } = this.#options
    using guard = deadline(clock, timeoutMs, {
      operation: `waiting for ${count} ${noun} like ${JSON.stringify(match)}`,
    })
    for (;;) {
      const found = this.matching(match).filter(counts)
      if (found.length >= count) return found.slice(0, count)
      await this.#change(guard.signal)
    }
  }

  /** Adds an entry for a request that begins. */
  add(begun: Entry): OpenExchange<Entry> {
    const entry = { ...begun }
    let ended = false
    this.#total += 1
    if (this.keeps) this.#entries.push(entry)
    // Drops many entries at once, because each drop moves the whole list.
    if (this.#entries.length > this.#limits.entries * 1.25) this.#drop(this.#entries.length - this.#limits.entries)
    this.#inFlight += 1
    this.#mostInFlight = Math.max(this.#mostInFlight, this.#inFlight)
    this.#changed(entry, false)
    return {
      entry,
      note: (facts, bytes = 0) => {
        Object.assign(entry, facts)
        this.#sizes.set(entry, bytes + (this.#sizes.get(entry) ?? 0))
        this.#bytes += bytes
        if (this.#bytes > this.#limits.bytes) this.#drop(Math.ceil(this.#entries.length / 2))
      },
      end: (facts) => {
        if (ended) return
        ended = true
        Object.assign(entry, facts)
        this.#inFlight -= 1
        this.#changed(entry, true)
      },
    }
  }

  /** Calls the listener when a request begins and when it ends. Returns a function that removes the listener. */
  subscribe(listener: (entry: Entry, ended: boolean) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #drop(count: number): void {
    for (const entry of this.#entries.splice(0, count)) this.#bytes -= this.#sizes.get(entry) ?? 0
  }

  #changed(entry: Entry, ended: boolean): void {
    for (const listener of [...this.#listeners]) listener(entry, ended)
  }

  async #change(signal: AbortSignal): Promise<void> {
    const changed = Promise.withResolvers<void>()
    const leave = this.subscribe(() => changed.resolve())
    try {
      await abortable(changed.promise, signal)
    } finally {
      leave()
    }
  }
}
