/** Why a key is added. `retry`: it comes back by itself and nothing has happened to it, so that others go first. */
export type KeyPriority = 'normal' | 'retry'

/** The order in which waiting keys are worked on. A key waits in it at most once. */
export interface KeyOrder {
  /** Keys that wait, those that cannot start yet included. */
  readonly length: number
  /** Normal keys go before retries, however many of those wait; while both wait, every fourth pick is a retry. */
  push(key: string, priority: KeyPriority): void
  /** Something has happened to a key that waits already: its position may have to change. */
  touch(key: string): void
  /** The next key that can start now; undefined when no key waits or all of them have to. */
  take(): string | undefined
  /** The work on a taken key has ended; others may wait for that. */
  release(key: string): void
  /** The group that a key waits for though a worker may be free; undefined where it only waits for its turn. */
  blockedBy?(key: string): string | undefined
}

/** While normal keys wait, retries get one of this many picks. */
export const FAIRNESS_INTERVAL = 4

const RESERVED_SHARE = 0.4

/** How many keys start beyond so many workers while retries occupy all of them. With one worker nothing overlaps. */
export function reservedFor(workers: number): number {
  return workers < 2 ? 0 : Math.max(1, Math.floor(workers * RESERVED_SHARE))
}
