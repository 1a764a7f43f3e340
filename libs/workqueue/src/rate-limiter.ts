import { exponential } from '@csi-sidecars/base'

/** How long a key has to wait before it is tried again. */
export interface RateLimiter {
  /** The wait of the next try, in milliseconds. Counts as a failure of the key. */
  when(key: string): number
  /** The key has succeeded: its failures no longer count. */
  forget(key: string): void
  /** The keys that have failed since they last succeeded. */
  failed(): Iterable<string>
}

/** For each key base x 2^failures, at most max. Remembers only keys that failed. */
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
