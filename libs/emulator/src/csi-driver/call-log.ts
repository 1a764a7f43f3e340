import { abortable, type Clock, deadline } from '@csi-sidecars/base'

/** One call as the driver saw it. */
export interface DriverCall {
  /** `ControllerPublishVolume`, ... */
  readonly method: string
  readonly request: Readonly<Record<string, unknown>>
  /** Monotonic milliseconds. */
  readonly start: number
  readonly end: number | undefined
  /** What the caller allowed when it called; undefined without a deadline. */
  readonly deadlineMs: number | undefined
  /** The gRPC code of the answer; undefined while the call is under way. */
  readonly code: number | undefined
}

export interface CallMatch {
  readonly method?: string
  readonly volumeId?: string
  readonly nodeId?: string
  readonly code?: number
}

/** Every call, in the order in which they began. Keeps the newest ones up to its limit. */
export class CallLog {
  readonly #clock: Clock
  readonly #limit: number
  readonly #entries: DriverCall[] = []
  readonly #listeners = new Set<(call: DriverCall) => void>()
  #inFlight = 0
  #mostInFlight = 0

  constructor(clock: Clock, limit = 20_000) {
    this.#clock = clock
    this.#limit = limit
  }

  get entries(): readonly DriverCall[] {
    return this.#entries
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** The most that were under way at one time. */
  get mostInFlight(): number {
    return this.#mostInFlight
  }

  matching(match: CallMatch): readonly DriverCall[] {
    return this.#entries.filter((call) => fits(call, match))
  }

  clear(): void {
    this.#entries.length = 0
  }

  /** Resolves with the first `count` calls that fit; with `code` asked for, those that ended with it. */
  async until(match: CallMatch, options: { count?: number; timeoutMs?: number } = {}): Promise<readonly DriverCall[]> {
    const { count = 1, timeoutMs = 10_000 } = options
    using guard = deadline(this.#clock, timeoutMs, `waiting for ${count} calls like ${JSON.stringify(match)}`)
    for (;;) {
      const found = this.matching(match)
      if (found.length >= count) return found.slice(0, count)
      await this.#change(guard.signal)
    }
  }

  /** Enters a call; the returned function notes its end, once. */
  add(method: string, request: object, deadlineMs: number | undefined): (code: number) => void {
    const call: { -readonly [K in keyof DriverCall]: DriverCall[K] } = {
      method,
      request: { ...request },
      start: this.#clock.monotonic(),
      end: undefined,
      deadlineMs,
      code: undefined,
    }
    this.#entries.push(call)
    if (this.#entries.length > this.#limit * 1.25) this.#entries.splice(0, this.#entries.length - this.#limit)
    this.#inFlight += 1
    this.#mostInFlight = Math.max(this.#mostInFlight, this.#inFlight)
    this.#changed(call)
    return (code) => {
      if (call.end !== undefined) return
      call.end = this.#clock.monotonic()
      call.code = code
      this.#inFlight -= 1
      this.#changed(call)
    }
  }

  /** Calls the listener when a call begins and when it ends. */
  subscribe(listener: (call: DriverCall) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #changed(call: DriverCall): void {
    for (const listener of [...this.#listeners]) listener(call)
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

function fits(call: DriverCall, match: CallMatch): boolean {
  const { method, code, volumeId, nodeId } = match
  return (
    (method === undefined || call.method === method) &&
    (code === undefined || call.code === code) &&
    (volumeId === undefined || call.request['volumeId'] === volumeId) &&
    (nodeId === undefined || call.request['nodeId'] === nodeId)
  )
}
