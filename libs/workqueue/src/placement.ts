/**
 * A key starts when fewer than `max` keys of the group are in work, and fewer than each of these allows. So a key with 1
 * has the group for itself, and keys with infinity share it with each other.
 */
export interface GroupLimit {
  readonly group: string
  /** 1 or more. */
  readonly max: number
}

/** The lane and the groups of a key at this moment. */
export interface Placement {
  /** Index into the lanes; a lower one is preferred. */
  readonly lane: number
  /** The groups that the key is in, each once. */
  readonly limits: readonly GroupLimit[]
  /**
   * A group in which the key counts already while it waits: keys with a limit in it start after this one, and this one
   * waits for none of them. None of its own limits, and none of a key that others of that group wait for.
   */
  readonly blocks?: string | undefined
}

export interface KeyLaneOptions {
  /** How many keys of this lane start though other lanes occupy all workers. */
  readonly reserved: number
}
