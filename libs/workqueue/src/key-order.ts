/** The priority of an added key: `retry` if its delay is over, otherwise `normal`. Normal keys go first. */
export type KeyPriority = 'normal' | 'retry'

/**
 * The order in which waiting keys run.
 *
 * Guarantees: a key waits at most once. `pop` returns only keys that can start.
 *
 * Caveats: a queue calls `release` once for each popped key. An order that limits groups must implement `blockedBy`.
 */
export interface KeyOrder {
  /** The number of waiting keys, including keys that cannot start yet. */
  readonly length: number
  /** Adds a key. Normal keys go before retries, but every fourth started key is a retry if a retry waits. */
  push(key: string, priority: KeyPriority): void
  /** Called when a waiting key is added again: its position may change. */
  touch(key: string): void
  /** Removes and returns the next key that can start. Undefined if there is none. */
  pop(): string | undefined
  /** Ends the work on a popped key, which may allow other keys to start. */
  release(key: string): void
  /** Returns the group that blocks a key. Undefined if it waits for its turn. */
  blockedBy?(key: string): string | undefined
}
