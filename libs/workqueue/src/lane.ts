import { Heap, type HeapItem } from '@csi-sidecars/base'
import { SHARE_OF_OTHERS } from './line.ts'
import type { GroupLimit, LaneOptions } from './placement.ts'

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

/** Keys of one lane and kind that wait for one group with the same limit. */
interface WaitingLine {
  readonly lane: Lane
  readonly later: boolean
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

/** A group that has no room for keys of this limit. */
export interface FullGroup {
  readonly group: Group
  readonly max: number
}

export interface Lane {
  readonly reserved: number
  inWork: number
  /** Of those in work, how many came later. */
  laterInWork: number
  /** The clock of the lane is the turn of the last key that was started. */
  now: number
  /** The turn of the next key, of either kind, that comes before `now` has reached it. */
  readonly next: { usual: number; later: number }
  /** Keys that can start as far as is known. Whether their groups have room shows when their turn comes. */
  readonly ready: Ready
}

/** The two kinds apart, since there may be room for one of them alone. */
export interface Ready {
  readonly usual: Heap<Entry>
  readonly later: Heap<Entry>
}

export function emptyLane({ reserved }: LaneOptions): Lane {
  const ready = { usual: byTurn(), later: byTurn() }
  return { reserved, inWork: 0, laterInWork: 0, now: 0, next: { usual: 0, later: 0 }, ready }
}

/** Where the entry stands while it can start. */
export function readyLine({ lane, later }: Pick<Entry, 'lane' | 'later'>): Heap<Entry> {
  return later ? lane.ready.later : lane.ready.usual
}

/** Whose turn it is of those that can start; of the usual ones alone where there is room for no other. */
export function firstReady({ usual, later }: Ready, usualOnly: boolean): Entry | undefined {
  const [first, other] = [usual.peek(), usualOnly ? undefined : later.peek()]
  if (first === undefined || other === undefined) return first ?? other
  return isBefore(other, first) ? other : first
}

export function isFull({ counted }: Group, max: number): boolean {
  return counted.length >= Math.min(max, ...counted)
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.turn === b.turn ? a.arrival < b.arrival : a.turn < b.turn
}

function byTurn(): Heap<Entry> {
  return new Heap(isBefore)
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

/** Where the entry waits behind a group that is full. */
export function lineBehind({ group, max }: FullGroup, { lane, later }: Pick<Entry, 'lane' | 'later'>): Heap<Entry> {
  const known = group.waiting.find((line) => line.lane === lane && line.later === later && line.max === max)
  if (known !== undefined) return known.entries
  const entries = byTurn()
  group.waiting.push({ lane, later, max, entries })
  return entries
}

export function join(entry: Entry, line: Heap<Entry>, group: string | undefined): void {
  entry.line = line
  entry.group = group
  line.push(entry)
}
