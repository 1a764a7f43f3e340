interface Growth {
  readonly initialMs: number
  readonly maxMs: number
  readonly factor?: number
}

interface Jitter {
  /** Part of each wait that is drawn at random on top, of the longest too: 0.5 makes it 1 to 1.5 times as long. */
  readonly jitter: number
  readonly random: () => number
}

export type BackoffOptions = Growth & (Jitter | Partial<Record<keyof Jitter, undefined>>)

/** The wait after `failures` failures in a row: initial x factor^failures, at most max. Never overflows. */
export function exponential({ initialMs, maxMs, factor = 2 }: Growth, failures: number): number {
  // Zero times infinity is not a number.
  return initialMs === 0 ? 0 : Math.min(initialMs * factor ** failures, maxMs)
}

/** Waits that grow with each failure in a row, for one thing that is tried again. */
export class Backoff {
  readonly #options: BackoffOptions
  #failures = 0

  constructor(options: BackoffOptions) {
    this.#options = options
  }

  get failures(): number {
    return this.#failures
  }

  /** The wait before the next try. */
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
