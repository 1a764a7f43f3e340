import { Heap, type HeapItem } from '@csi-sidecars/base'
import { FAIRNESS_INTERVAL } from './fifo-order.ts'
import type { KeyPriority } from './key-order.ts'

/**
 * What a key demands of a group: while the key runs, at most `max` keys of the group run, itself included. With `max` 1
 * it runs alone. With Infinity it demands nothing.
 */
export interface GroupLimit {
  readonly group: string
  /** The limit: 1 or more. */
  readonly max: number
}

/** The lane and the groups of a key at this moment. */
export interface Placement {
  /** The index of the lane. A lower index is preferred. */
  readonly lane: number
  /** The groups of the key with its limits. Each group occurs once. */
  readonly limits: readonly GroupLimit[]
  /**
   * The group that this key blocks. While this key waits or runs, no key that is limited by the group starts. A key
   * must not block a group that limits it, because blocking keys would wait for each other.
   */
  readonly blocks?: string | undefined
}

/** How much of the workers a lane keeps for itself. */
export interface KeyLaneOptions {
  /** The number of this lane's keys that start while other lanes occupy all workers. */
  readonly reserved: number
}

/** A key in a lane, from its first push to its release. */
export interface LaneEntry extends HeapItem {
  readonly key: string
  /** The position in the lane, lowest first. A wait for a group keeps it. */
  readonly turn: number
  /** The order of keys with the same `turn`: lower numbers came earlier. */
  readonly arrival: number
  readonly priority: KeyPriority
  readonly lane: KeyLane
  /** The heap in which the key waits: of its lane, or of a group. Undefined while the key is in work. */
  heap: Heap<LaneEntry> | undefined
  /** The group that the key waits for, or waited for last. */
  group: string | undefined
  /** The limits of the groups in which the running key counts. */
  limits: readonly GroupLimit[]
  /** The group that the key blocks, while it waits or runs. */
  blocks: string | undefined
}

/** Keys that wait for a group. They all have the same lane, priority and limit. */
interface BlockedKeys {
  readonly lane: KeyLane
  readonly priority: KeyPriority
  readonly max: number
  readonly entries: Heap<LaneEntry>
}

/**
 * A group exists while a key counts in it or waits for it. If the group has room, its earliest waiting key returns to
 * its lane. The next waiting key follows when this key has left the lane.
 */
export interface Group {
  readonly name: string
  /** One limit for each key that counts in the group. Running keys count, and keys that block the group. */
  readonly limitsInUse: number[]
  readonly blocked: BlockedKeys[]
}

/** A group that is full for keys with the limit `max`. */
export interface FullGroup {
  readonly group: Group
  readonly max: number
}

/** One class of keys, with its counts. Only `Lanes` changes it. */
export interface KeyLane {
  readonly reserved: number
  inWork: number
  retriesInWork: number
  /** The highest position (`turn`) of a key of this lane that has started. New keys get no lower position. */
  now: number
  /** The next position for each priority. A new key gets this position, or `now` if `now` is higher. */
  readonly next: Record<KeyPriority, number>
  /** The waiting keys that may start next. The limits of their groups are checked right before they start. */
  readonly ready: Ready
}

/** The waiting keys, separated by priority, because there may be room for normal keys only. */
export type Ready = Readonly<Record<KeyPriority, Heap<LaneEntry>>>

export function emptyLane({ reserved }: KeyLaneOptions): KeyLane {
  const ready = { normal: byTurn(), retry: byTurn() }
  return { reserved, inWork: 0, retriesInWork: 0, now: 0, next: { normal: 0, retry: 0 }, ready }
}

/** Returns the heap of keys that can start, for the entry's lane and priority. */
export function readyHeap({ lane, priority }: Pick<LaneEntry, 'lane' | 'priority'>): Heap<LaneEntry> {
  return lane.ready[priority]
}

/** Returns the next key that can start. With `normalOnly` it skips retries. */
export function firstReady({ normal, retry }: Ready, normalOnly: boolean): LaneEntry | undefined {
  const [first, other] = [normal.peek(), normalOnly ? undefined : retry.peek()]
  if (first === undefined || other === undefined) return first ?? other
  return isBefore(other, first) ? other : first
}

export function isFull({ limitsInUse }: Group, max: number): boolean {
  return limitsInUse.length >= Math.min(max, ...limitsInUse)
}

function isBefore(a: LaneEntry, b: LaneEntry): boolean {
  return a.turn === b.turn ? a.arrival < b.arrival : a.turn < b.turn
}

function byTurn(): Heap<LaneEntry> {
  return new Heap(isBefore)
}

/**
 * Returns the position of a new key in its lane. Retries get only every third position, so that neither normal keys nor
 * retries starve.
 */
export function nextTurn({ now, next }: KeyLane, priority: KeyPriority): number {
  const turn = Math.max(now, next[priority])
  next[priority] = turn + (priority === 'retry' ? FAIRNESS_INTERVAL - 1 : 1)
  return turn
}

/** Returns the heap of keys that wait for the group at its limit. */
export function heapBlockedBy(
  { group, max }: FullGroup,
  { lane, priority }: Pick<LaneEntry, 'lane' | 'priority'>,
): Heap<LaneEntry> {
  const existing = group.blocked.find((each) => each.lane === lane && each.priority === priority && each.max === max)
  if (existing !== undefined) return existing.entries
  const entries = byTurn()
  group.blocked.push({ lane, priority, max, entries })
  return entries
}

export function addToHeap(entry: LaneEntry, heap: Heap<LaneEntry>, group: string | undefined): void {
  entry.heap = heap
  entry.group = group
  heap.push(entry)
}
