import { abortable, type Clock, deadline } from '@csi-sidecars/base'
import type { Json } from './json.ts'
import type { Verb } from './request-info.ts'

/** One request as it arrived and as it was answered. */
export interface LoggedRequest {
  /** Wall time of its arrival. */
  readonly time: number
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly verb: Verb | undefined
  /** The plural, with `/status` for the subresource; empty for paths that are no resource. */
  readonly resource: string
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly contentType: string | undefined
  readonly userAgent: string | undefined
  readonly user: string | undefined
  /** Parsed when it is JSON; undefined when there is none. */
  readonly body: Json | undefined
  /** 0 until it is answered, and for ever when the connection was cut. */
  readonly code: number
}

export type RequestMatch = Partial<
  Pick<LoggedRequest, 'method' | 'verb' | 'resource' | 'namespace' | 'name' | 'code' | 'user'>
>

/** What is told of a request after it was entered. */
export interface Note {
  user(name: string): void
  body(body: Json | undefined, bytes: number): void
  answered(code: number): void
}

const WRITES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

export interface LogLimits {
  readonly entries: number
  /** Of all bodies together. */
  readonly bytes: number
}

const DEFAULT_LIMITS: LogLimits = { entries: 20_000, bytes: 64 * 1024 * 1024 }

/** Every request, in the order of arrival. Keeps the newest ones, as many as its limits allow. */
export class RequestLog {
  readonly #clock: Clock
  readonly #limits: LogLimits
  readonly #entries: LoggedRequest[] = []
  readonly #listeners = new Set<(request: LoggedRequest) => void>()
  readonly #sizes = new WeakMap<LoggedRequest, number>()
  #bytes = 0
  #total = 0

  constructor(clock: Clock, limits = DEFAULT_LIMITS) {
    this.#clock = clock
    this.#limits = limits
  }

  /** How many there were, also those that are not kept any more. */
  get total(): number {
    return this.#total
  }

  get entries(): readonly LoggedRequest[] {
    return this.#entries
  }

  /** Those that change something, leases and events left out unless asked for. */
  get writes(): readonly LoggedRequest[] {
    return this.#entries.filter(
      ({ method, resource }) => WRITES.has(method) && resource !== 'leases' && resource !== 'events',
    )
  }

  matching(match: RequestMatch): readonly LoggedRequest[] {
    return this.#entries.filter((entry) => fits(entry, match))
  }

  clear(): void {
    this.#drop(this.#entries.length)
  }

  /** Resolves with the first `count` requests that fit and are answered, past ones included. */
  async until(
    match: RequestMatch,
    options: { count?: number; timeoutMs?: number } = {},
  ): Promise<readonly LoggedRequest[]> {
    const { count = 1, timeoutMs = 10_000 } = options
    using guard = deadline(this.#clock, timeoutMs, `waiting for ${count} requests like ${JSON.stringify(match)}`)
    for (;;) {
      const found = this.matching(match).filter((entry) => entry.code !== 0)
      if (found.length >= count) return found.slice(0, count)
      await this.#change(guard.signal)
    }
  }

  /** Enters a request, whose user and answer are noted when they are known. */
  add(request: Omit<LoggedRequest, 'code'>): Note {
    const entry: { -readonly [K in keyof LoggedRequest]: LoggedRequest[K] } = { ...request, code: 0 }
    this.#total += 1
    this.#entries.push(entry)
    // Not one by one: moving the list together costs as much as it is long.
    if (this.#entries.length > this.#limits.entries * 1.25) this.#drop(this.#entries.length - this.#limits.entries)
    return {
      user: (name) => {
        entry.user = name
      },
      body: (body, bytes) => {
        entry.body = body
        this.#sizes.set(entry, bytes)
        this.#bytes += bytes
        if (this.#bytes > this.#limits.bytes) this.#drop(Math.ceil(this.#entries.length / 2))
      },
      answered: (code) => {
        entry.code = code
        for (const listener of [...this.#listeners]) listener(entry)
      },
    }
  }

  /** Calls the listener with each request when it is answered. */
  subscribe(listener: (request: LoggedRequest) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #drop(count: number): void {
    for (const entry of this.#entries.splice(0, count)) this.#bytes -= this.#sizes.get(entry) ?? 0
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

function fits(entry: LoggedRequest, match: RequestMatch): boolean {
  return Object.entries(match).every(
    ([key, value]) => value === undefined || entry[key as keyof RequestMatch] === value,
  )
}
