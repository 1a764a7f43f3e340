import { exponential } from '@csi-sidecars/base'

/** The back-off of failing keys. */
export interface RateLimiter {
  /** Counts a failure of the key. Returns the wait before the next try, in milliseconds. */
  when(key: string): number
  /** Forgets the failures of a key that has succeeded. */
  forget(key: string): void
  /** The keys that have failed since their last success. */
  failed(): Iterable<string>
}

/** A wait of `baseMs` x 2^failures for each key, at most `maxMs`. Remembers only keys that have failed. */
export function perKeyExponential({ baseMs, maxMs }: { baseMs: number; maxMs: number }): RateLimiter {
  const growth = { initialMs: baseMs, maxMs }
  const failures = new Map<string, number>()
  return {
    when(key) {
      const count = failures.get(key) ?? 0
      failures.set(key, count + 1)
      return exponential(growth, count)
    },
    forget: (key) => void failures.delete(key),
    failed: () => failures.keys(),
  }
}
