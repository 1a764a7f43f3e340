import type { FlowPolicy } from './policy.ts'

/**
 * Exactly `burst` requests at once, then `qps` a second. Running requests are not counted.
 * A burst below one lets nothing through; a negative rate everything.
 */
export class BucketPolicy implements FlowPolicy {
  readonly #qps: number
  readonly #burst: number
  #tokens: number
  #at: number

  constructor(options: { qps: number; burst: number; now: number }) {
    this.#qps = options.qps
    this.#burst = options.burst
    this.#tokens = options.burst
    this.#at = options.now
  }

  admit(now: number): number {
    if (this.#qps < 0) return 0
    this.#advance(now)
    // Floating point must not cost a wait of a nanosecond.
    if (this.#tokens < 1 - 1e-9) return ((1 - this.#tokens) * 1000) / this.#qps
    this.#tokens -= 1
    return 0
  }

  /** Half of the burst stays for others. */
  admitSpare(now: number): number {
    if (this.#qps < 0) return 0
    this.#advance(now)
    const missing = 1 + Math.min(this.#burst / 2, this.#burst - 1) - this.#tokens
    return missing > 1e-9 ? (missing * 1000) / this.#qps : this.admit(now)
  }

  /** A bucket counts starts only, and a request that was refused waits for as long as the server asks. */
  ended(): boolean {
    return false
  }

  #advance(now: number): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#at) * this.#qps) / 1000)
    this.#at = now
  }
}
