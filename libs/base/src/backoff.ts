interface Growth {
  readonly initialMs: number
  readonly maxMs: number
  readonly factor?: number
}

interface Jitter {
  /** The largest random addition to a wait, as a share of the wait. With 0.5 a wait is up to 1.5 times as long. */
  readonly jitter: number
  readonly random: () => number
}

export type BackoffOptions = Growth & (Jitter | Partial<Record<keyof Jitter, undefined>>)

/** The wait after `failures` failures in a row: `initialMs * factor ** failures`, at most `maxMs`. Never overflows. */
export function exponential({ initialMs, maxMs, factor = 2 }: Growth, failures: number): number {
  // Avoids `0 * Infinity`, which is not a number.
  return initialMs === 0 ? 0 : Math.min(initialMs * factor ** failures, maxMs)
}

/** Counts the failures in a row of one retried operation, and computes the wait before its next attempt. */
export class Backoff {
  readonly #options: BackoffOptions
  #failures = 0

  constructor(options: BackoffOptions) {
    this.#options = options
  }

  get failures(): number {
    return this.#failures
  }

  /** Counts a failure. Returns the milliseconds to wait before the next attempt. */
  next(): number {
    const { jitter = 0, random = () => 0 } = this.#options
    const wait = exponential(this.#options, this.#failures)
    this.#failures += 1
    return wait * (1 + jitter * random())
  }

  reset(): void {
    this.#failures = 0
  }
}
