/**
 * A key starts when fewer than `max` keys of the group are in work, and fewer than each of these allows. So a key with 1
 * has the group for itself, and keys with infinity share it with each other.
 */
export interface GroupLimit {
  readonly group: string
  /** 1 or more. */
  readonly max: number
}

/** Where a key belongs at this moment. */
export interface Placement {
  /** Index into the lanes; a lower one is preferred. */
  readonly lane: number
  /** The groups that the key is in, each once. */
  readonly limits: readonly GroupLimit[]
  /**
   * A group in which the key counts already while it waits, though nobody there holds it up: keys with a limit in it let
   * this one go first. None of its own limits, and none of a key that others of that group wait for.
   */
  readonly precedes?: string | undefined
}

export interface LaneOptions {
  /** How many keys of this lane start though all workers are occupied, as far as by other lanes. */
  readonly reserved: number
}
