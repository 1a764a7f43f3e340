import { Heap, type HeapItem } from '@csi-sidecars/base'
import { FAIRNESS_INTERVAL, type KeyPriority } from './order.ts'

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

export interface LaneEntry extends HeapItem {
  readonly key: string
  /** When its turn is, by the clock of its lane. A key that waits for a group keeps it, so that it loses nothing by that. */
  readonly turn: number
  /** Of those with the same turn, lower ones came earlier. */
  readonly arrival: number
  readonly priority: KeyPriority
  readonly lane: KeyLane
  /** Where it waits: in its lane or for a group. Undefined while it is in work. */
  heap: Heap<LaneEntry> | undefined
  /** The group that it waits for, or that has let it back into its lane. */
  group: string | undefined
  /** What it counts against while it is in work. */
  limits: readonly GroupLimit[]
  /** The group in which it counts now, waiting or in work. */
  blocks: string | undefined
}

/** Keys of one lane and priority that wait for one group with the same limit. */
interface BlockedKeys {
  readonly lane: KeyLane
  readonly priority: KeyPriority
  readonly max: number
  readonly entries: Heap<LaneEntry>
}

/**
 * Exists while a key counts in it or waits for it. While it has room for some blocked keys, the earliest of them is back
 * in its lane; when that one leaves, for whatever reason, the next one follows.
 */
export interface Group {
  readonly name: string
  /** What each key that counts in it allows: as many numbers as keys are in work or block others. */
  readonly counted: number[]
  readonly blocked: BlockedKeys[]
}

/** A group that has no room for keys of this limit. */
export interface FullGroup {
  readonly group: Group
  readonly max: number
}

export interface KeyLane {
  readonly reserved: number
  inWork: number
  /** Of those in work, how many are retries. */
  retriesInWork: number
  /** The clock of the lane: the turn of the last key that started. */
  now: number
  /** The turn of the next key of each priority that comes before `now` has reached it. */
  readonly next: Record<KeyPriority, number>
  /** Keys that can start as far as is known. Whether their groups have room shows when their turn comes. */
  readonly ready: Ready
}

/** The two priorities apart, since there may be room for normal keys alone. */
export type Ready = Readonly<Record<KeyPriority, Heap<LaneEntry>>>

export function emptyLane({ reserved }: KeyLaneOptions): KeyLane {
  const ready = { normal: byTurn(), retry: byTurn() }
  return { reserved, inWork: 0, retriesInWork: 0, now: 0, next: { normal: 0, retry: 0 }, ready }
}

/** Where the entry waits while it can start. */
export function readyHeap({ lane, priority }: Pick<LaneEntry, 'lane' | 'priority'>): Heap<LaneEntry> {
  return lane.ready[priority]
}

/** The next of those that can start; of the normal ones alone where there is room for no other. */
export function firstReady({ normal, retry }: Ready, normalOnly: boolean): LaneEntry | undefined {
  const [first, other] = [normal.peek(), normalOnly ? undefined : retry.peek()]
  if (first === undefined || other === undefined) return first ?? other
  return isBefore(other, first) ? other : first
}

export function isFull({ counted }: Group, max: number): boolean {
  return counted.length >= Math.min(max, ...counted)
}

function isBefore(a: LaneEntry, b: LaneEntry): boolean {
  return a.turn === b.turn ? a.arrival < b.arrival : a.turn < b.turn
}

function byTurn(): Heap<LaneEntry> {
  return new Heap(isBefore)
}

/**
 * Each priority has turns of its own, retries one where normal keys have three. So the first key of a priority is next,
 * however many of the other wait.
 */
export function nextTurn({ now, next }: KeyLane, priority: KeyPriority): number {
  const turn = Math.max(now, next[priority])
  next[priority] = turn + (priority === 'retry' ? FAIRNESS_INTERVAL - 1 : 1)
  return turn
}

/** Where the entry waits for a group that is full. */
export function heapBlockedBy(
  { group, max }: FullGroup,
  { lane, priority }: Pick<LaneEntry, 'lane' | 'priority'>,
): Heap<LaneEntry> {
  const known = group.blocked.find((each) => each.lane === lane && each.priority === priority && each.max === max)
  if (known !== undefined) return known.entries
  const entries = byTurn()
  group.blocked.push({ lane, priority, max, entries })
  return entries
}

export function join(entry: LaneEntry, heap: Heap<LaneEntry>, group: string | undefined): void {
  entry.heap = heap
  entry.group = group
  heap.push(entry)
}
