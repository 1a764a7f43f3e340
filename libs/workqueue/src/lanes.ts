import { Heap, type HeapItem, invariant, NOT_IN_HEAP } from '@csi-sidecars/base'
import type { Line } from './line.ts'

/** At most `max` keys of a group are in work at once. All keys of a group name the same `max`, 1 or more. */
export interface GroupLimit {
  readonly group: string
  readonly max: number
}

/** Where a key belongs at this moment. */
export interface Placement {
  /** Index into the lanes; a lower one is preferred. */
  readonly lane: number
  /** The groups that the key is in, each once. */
  readonly limits: readonly GroupLimit[]
}

export interface LaneOptions {
  /** Workers that keys of other lanes may not occupy. */
  readonly reserved: number
}

interface Entry extends HeapItem {
  readonly key: string
  /** Lower ones came earlier. Kept while the key waits for a group, so that it loses no place by that. */
  readonly rank: number
  readonly lane: Lane
  /** Where it waits: in its lane or behind a group. Nothing while it is in work. */
  line: Heap<Entry> | undefined
  /** The group behind which it waits, or which has let it back into its lane. */
  group: string | undefined
  /** What it counts against while it is in work. */
  limits: readonly GroupLimit[]
}

/**
 * Exists while a key of it is in work or waits for it.
 * While it has room, the earliest of its waiting keys of each lane stands in that lane;
 * when that one leaves, for whatever reason, the next one follows.
 */
interface Group {
  readonly name: string
  readonly max: number
  inWork: number
  readonly waiting: Map<Lane, Heap<Entry>>
}

interface Lane {
  readonly reserved: number
  inWork: number
  /** Keys that can start as far as is known. Whether their groups have room shows when their turn comes. */
  readonly ready: Heap<Entry>
}

const NO_LIMITS: readonly GroupLimit[] = []

/** While a preferred lane has work, the others get one of this many picks. */
const SHARE_OF_OTHERS = 4

/**
 * Several lanes in one queue of `workers` workers.
 * - A lane never occupies the workers that others have reserved, so it cannot starve them, however long its work hangs.
 * - Workers that nobody has reserved go to the preferred lane; every fourth pick goes to another that waits.
 * - Of a group never more than its limit is in work; a full group holds up nobody else.
 * Within a lane keys leave in the order in which they came, but for those whose group is full.
 */
export class Lanes implements Line {
  readonly #workers: number
  readonly #lanes: readonly Lane[]
  readonly #place: (key: string) => Placement
  readonly #entries = new Map<string, Entry>()
  readonly #groups = new Map<string, Group>()
  #rank = 0
  #inWork = 0
  #picks = 0

  /**
   * `place` is asked when a key is added and again when its turn comes, so it must be cheap and must not throw.
   * When its answer changes for a waiting key, `touch` the key.
   */
  constructor(options: { workers: number; lanes: readonly LaneOptions[]; place: (key: string) => Placement }) {
    const { workers, lanes, place } = options
    const allReserved = lanes.reduce((sum, { reserved }) => sum + reserved, 0)
    for (const { reserved } of lanes) {
      invariant(workers <= 0 || allReserved - reserved < workers, 'a lane for which the others leave no worker')
    }
    this.#workers = workers
    this.#place = place
    this.#lanes = lanes.map(({ reserved }) => ({ reserved, inWork: 0, ready: byRank() }))
  }

  get length(): number {
    return this.#entries.size - this.#inWork
  }

  push(key: string): void {
    this.#enqueue(key, this.#place(key).lane)
  }

  /**
   * A key that changed its lane while it waited goes to the end of the other one.
   * One that left the group behind which it waited goes back into its lane.
   */
  touch(key: string): void {
    const entry = this.#entries.get(key)
    if (entry?.line === undefined) return
    const { lane, limits } = this.#place(key)
    if (this.#lane(lane) !== entry.lane) {
      this.#leaveLine(entry)
      this.#enqueue(key, lane)
    } else if (entry.line !== entry.lane.ready && !limits.some(({ group }) => group === entry.group)) {
      this.#leaveLine(entry)
      join(entry, entry.lane.ready, undefined)
    }
  }

  take(): string | undefined {
    const lastRank = this.#rank
    for (const lane of this.#order()) {
      const entry = this.#mayStart(lane) ? this.#next(lane) : undefined
      if (entry !== undefined) return this.#start(entry)
    }
    // A key may have turned out to belong to a lane that was already passed by.
    return this.#rank === lastRank ? undefined : this.take()
  }

  release(key: string): void {
    const entry = this.#entries.get(key)
    invariant(entry !== undefined && entry.line === undefined, `release of ${key}, which is not in work`)
    this.#entries.delete(key)
    this.#inWork -= 1
    entry.lane.inWork -= 1
    for (const { group: name } of entry.limits) {
      const group = this.#groups.get(name)
      invariant(group !== undefined, `no group ${name}, though ${key} was in it`)
      group.inWork -= 1
      for (const lane of this.#lanes) this.#letOn(group, lane)
    }
  }

  #lane(index: number): Lane {
    const lane = this.#lanes[index]
    invariant(lane !== undefined, `no lane ${index}`)
    return lane
  }

  #enqueue(key: string, laneIndex: number): void {
    const lane = this.#lane(laneIndex)
    this.#rank += 1
    const rank = this.#rank
    const entry = { key, rank, lane, line: undefined, group: undefined, limits: NO_LIMITS, heapIndex: NOT_IN_HEAP }
    this.#entries.set(key, entry)
    join(entry, lane.ready, undefined)
  }

  /** The preferred lane first, but for every fourth pick. */
  #order(): readonly Lane[] {
    if (this.#picks % SHARE_OF_OTHERS !== SHARE_OF_OTHERS - 1) return this.#lanes
    return [...this.#lanes.slice(1), ...this.#lanes.slice(0, 1)]
  }

  #mayStart(lane: Lane): boolean {
    let kept = 0
    for (const other of this.#lanes) if (other !== lane) kept += Math.max(0, other.reserved - other.inWork)
    return this.#workers - this.#inWork > kept
  }

  /** The first key of the lane whose groups all have room. Those before it go behind their groups. */
  #next(lane: Lane): Entry | undefined {
    for (let entry = lane.ready.peek(); entry !== undefined; entry = lane.ready.peek()) {
      const { lane: laneNow, limits } = this.#place(entry.key)
      if (this.#lane(laneNow) !== lane) {
        this.#leaveLine(entry)
        this.#enqueue(entry.key, laneNow)
        continue
      }
      entry.limits = limits
      const full = this.#fullGroup(limits)
      if (full === undefined) return entry
      this.#leaveLine(entry)
      join(entry, lineBehind(full, lane), full.name)
    }
    return undefined
  }

  #fullGroup(limits: readonly GroupLimit[]): Group | undefined {
    for (const { group: name } of limits) {
      const group = this.#groups.get(name)
      if (group !== undefined && group.inWork >= group.max) return group
    }
    return undefined
  }

  #start(entry: Entry): string {
    for (const { group: name, max } of entry.limits) {
      const group = this.#groups.get(name) ?? { name, max, inWork: 0, waiting: new Map() }
      this.#groups.set(name, group)
      group.inWork += 1
    }
    this.#leaveLine(entry)
    entry.lane.inWork += 1
    this.#inWork += 1
    this.#picks += 1
    return entry.key
  }

  #leaveLine(entry: Entry): void {
    entry.line?.remove(entry)
    entry.line = undefined
    const group = entry.group === undefined ? undefined : this.#groups.get(entry.group)
    entry.group = undefined
    if (group !== undefined) this.#letOn(group, entry.lane)
  }

  /** Lets the next waiting key back into its lane if the group has room; forgets a group without keys. */
  #letOn(group: Group, lane: Lane): void {
    if (group.inWork >= group.max) return
    const entry = group.waiting.get(lane)?.pop()
    if (entry !== undefined) join(entry, lane.ready, group.name)
    if (group.inWork === 0 && [...group.waiting.values()].every((line) => line.size === 0)) {
      this.#groups.delete(group.name)
    }
  }
}

function byRank(): Heap<Entry> {
  return new Heap((a, b) => a.rank < b.rank)
}

function lineBehind(group: Group, lane: Lane): Heap<Entry> {
  const line = group.waiting.get(lane) ?? byRank()
  group.waiting.set(lane, line)
  return line
}

function join(entry: Entry, line: Heap<Entry>, group: string | undefined): void {
  entry.line = line
  entry.group = group
  line.push(entry)
}
