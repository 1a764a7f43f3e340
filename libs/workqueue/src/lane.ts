import { Heap, type HeapItem } from '@csi-sidecars/base'
import { SHARE_OF_OTHERS } from './line.ts'
import type { GroupLimit } from './placement.ts'

export interface Entry extends HeapItem {
  readonly key: string
  /** When its turn is, by the clock of its lane. Kept while the key waits for a group, so that it loses no place by that. */
  readonly turn: number
  /** Of those with the same turn, lower ones came earlier. */
  readonly arrival: number
  readonly later: boolean
  readonly lane: Lane
  /** Where it waits: in its lane or behind a group. Nothing while it is in work. */
  line: Heap<Entry> | undefined
  /** The group behind which it waits, or which has let it back into its lane. */
  group: string | undefined
  /** What it counts against while it is in work. */
  limits: readonly GroupLimit[]
  /** The group in which it counts now, waiting or in work. */
  precedes: string | undefined
}

/** Keys of one lane that wait for one group with the same limit. */
interface WaitingLine {
  readonly lane: Lane
  readonly max: number
  readonly entries: Heap<Entry>
}

/**
 * Exists while a key counts in it or waits for it.
 * While it has room for the keys of a line, the earliest of them stands in its lane;
 * when that one leaves, for whatever reason, the next one follows.
 */
export interface Group {
  readonly name: string
  /** What each key that counts in it allows: few, as many as are in work or precede others. */
  readonly counted: number[]
  readonly waiting: WaitingLine[]
}

export interface Lane {
  readonly reserved: number
  inWork: number
  /** The clock of the lane is the turn of the last key that was started. */
  now: number
  /** The turn of the next key, of either kind, that comes before `now` has reached it. */
  readonly next: { usual: number; later: number }
  /** Keys that can start as far as is known. Whether their groups have room shows when their turn comes. */
  readonly ready: Heap<Entry>
}

export function isFull({ counted }: Group, max: number): boolean {
  return counted.length >= Math.min(max, ...counted)
}

export function byTurn(): Heap<Entry> {
  return new Heap((a, b) => (a.turn === b.turn ? a.arrival < b.arrival : a.turn < b.turn))
}

/**
 * Each kind of keys has turns of its own, those that come later only one where the others have three. So whoever comes
 * first of a kind is next, however many of the other kind wait.
 */
export function turnIn({ now, next }: Lane, later: boolean): number {
  const kind = later ? 'later' : 'usual'
  const turn = Math.max(now, next[kind])
  next[kind] = turn + (later ? SHARE_OF_OTHERS - 1 : 1)
  return turn
}

export function lineBehind(group: Group, lane: Lane, max: number): Heap<Entry> {
  const known = group.waiting.find((line) => line.lane === lane && line.max === max)
  if (known !== undefined) return known.entries
  const entries = byTurn()
  group.waiting.push({ lane, max, entries })
  return entries
}

export function join(entry: Entry, line: Heap<Entry>, group: string | undefined): void {
  entry.line = line
  entry.group = group
  line.push(entry)
}
