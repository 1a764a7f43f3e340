import { exponential, type TokenBucket } from '@csi-sidecars/base'

/** How long a key has to wait before it is tried again. */
export interface RateLimiter {
  /** The wait of the next try, in milliseconds. Counts as a failure of the key. */
  when(key: string): number
  /** The key is fine: its failures count no more. */
  forget(key: string): void
  /** Failures since the key was fine. */
  failures(key: string): number
}

/** For each key base x 2^failures, at most max. Remembers only keys that failed. */
export function perKeyExponential(options: { baseMs: number; maxMs: number }): RateLimiter {
  const failures = new Map<string, number>()
  return {
    when(key) {
      const count = failures.get(key) ?? 0
      failures.set(key, count + 1)
      return exponential(options.baseMs, options.maxMs, count)
    },
    forget: (key) => void failures.delete(key),
    failures: (key) => failures.get(key) ?? 0,
  }
}

/** One bucket for all keys together. */
export function overallBucket(bucket: TokenBucket): RateLimiter {
  return { when: () => bucket.reserve(), forget: () => {}, failures: () => 0 }
}

/** The strictest of several. */
export function maxOf(...limiters: readonly RateLimiter[]): RateLimiter {
  const largest = (of: (limiter: RateLimiter) => number): number => Math.max(0, ...limiters.map(of))
  return {
    when: (key) => largest((limiter) => limiter.when(key)),
    forget(key) {
      for (const limiter of limiters) limiter.forget(key)
    },
    failures: (key) => largest((limiter) => limiter.failures(key)),
  }
}
