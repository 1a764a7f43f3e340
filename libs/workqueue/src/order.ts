/** The priority of an added key. `retry`: the key is back without an event, so other keys go first. */
export type KeyPriority = 'normal' | 'retry'

/**
 * The order in which waiting keys run.
 *
 * Guarantees: a key waits at most once. `take` returns only keys that can start.
 *
 * Caveats: a queue calls `release` once for each taken key. An order that limits groups must implement `blockedBy`.
 */
export interface KeyOrder {
  /** The number of waiting keys, including keys that cannot start yet. */
  readonly length: number
  /** Adds a key. Normal keys go before retries; while both wait, every fourth pick is a retry. */
  push(key: string, priority: KeyPriority): void
  /** Reports an event for a waiting key: its position may have to change. */
  touch(key: string): void
  /** Takes the next key that can start. Undefined: no key waits, or no waiting key can start. */
  take(): string | undefined
  /** Reports the end of the work on a taken key. Other keys may wait for that. */
  release(key: string): void
  /** The full group that a key waits for. Undefined: the key waits for its turn only. */
  blockedBy?(key: string): string | undefined
}

/** While normal keys wait, one of this many picks is a retry. */
export const FAIRNESS_INTERVAL = 4

const RESERVED_SHARE = 0.4

/**
 * The number of keys that start beyond the workers while retries occupy all of them. With one worker nothing overlaps.
 */
export function reservedFor(workers: number): number {
  return workers < 2 ? 0 : Math.max(1, Math.floor(workers * RESERVED_SHARE))
}
