import { invariant, NOT_IN_HEAP } from '@csi-sidecars/base'
import {
  type Entry,
  emptyLane,
  type FullGroup,
  firstReady,
  type Group,
  isFull,
  join,
  type Lane,
  lineBehind,
  readyLine,
  turnIn,
} from './lane.ts'
import { type Line, SHARE_OF_OTHERS } from './line.ts'
import type { GroupLimit, LaneOptions, Placement } from './placement.ts'

const NO_LIMITS: readonly GroupLimit[] = []

/**
 * Several lanes in one queue of `workers` workers.
 * - No worker is idle while a key could start: a lane may occupy all of them.
 * - When others occupy them, a lane still starts as many keys as it has reserved, beyond the number of workers. So no
 *   lane can starve another, however long its work hangs, and never more than `capacity` keys are in work.
 * - To keys that do not come later those of their own lane that do are others: what hangs again and again starves no
 *   newcomer.
 * - The preferred lane comes first; every fourth pick goes to another that waits, unless it would occupy what is reserved.
 * - Of a group never more than its limit is in work; a full group holds up nobody else.
 * Within a lane keys leave in the order in which they came, but for those whose group is full and those that come later.
 */
export class Lanes implements Line {
  /** The most keys that can be in work at once: the workers, and what is reserved. */
  readonly capacity: number
  readonly #workers: number
  readonly #lanes: readonly Lane[]
  readonly #place: (key: string) => Placement
  readonly #entries = new Map<string, Entry>()
  readonly #groups = new Map<string, Group>()
  #arrivals = 0
  #inWork = 0
  #picks = 0

  /**
   * `place` is asked when a key is added and again when its turn comes, so it must be cheap and must not throw.
   * When its answer changes for a waiting key, `touch` the key.
   */
  constructor(options: { workers: number; lanes: readonly LaneOptions[]; place: (key: string) => Placement }) {
    const { workers, lanes, place } = options
    this.#workers = workers
    this.capacity = workers <= 0 ? 0 : lanes.reduce((sum, { reserved }) => sum + reserved, workers)
    this.#place = place
    this.#lanes = lanes.map(emptyLane)
  }

  get length(): number {
    return this.#entries.size - this.#inWork
  }

  push(key: string, later = false): void {
    this.#enqueue(key, this.#place(key), later)
  }

  /**
   * A key that changed its lane while it waited goes to the end of the other one. One that was to come later comes now.
   * One that left the group behind which it waited goes back into its lane.
   */
  touch(key: string): void {
    const entry = this.#entries.get(key)
    if (entry?.line === undefined) return
    const placement = this.#place(key)
    const { lane, limits } = placement
    this.#precede(entry, placement.precedes)
    if (this.#lane(lane) !== entry.lane || entry.later) {
      this.#leaveLine(entry)
      this.#enqueue(key, placement, false)
    } else if (entry.line !== readyLine(entry) && !limits.some(({ group }) => group === entry.group)) {
      this.#leaveLine(entry)
      join(entry, readyLine(entry), undefined)
    }
  }

  take(): string | undefined {
    const lastArrival = this.#arrivals
    for (const lane of this.#order()) {
      const entry = this.#next(lane)
      if (entry !== undefined) return this.#start(entry)
    }
    // A key may have turned out to belong to a lane that was already passed by.
    return this.#arrivals === lastArrival ? undefined : this.take()
  }

  behind(key: string): string | undefined {
    const entry = this.#entries.get(key)
    return entry?.line === undefined || entry.line === readyLine(entry) ? undefined : entry.group
  }

  /** Whether the key, which is in work, would start now where it was started: what it depends on may have changed. */
  isPlaced(key: string): boolean {
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.line !== undefined) return false
    const { lane, limits, precedes } = this.#place(key)
    const same = limits.every(({ group, max }, index) => {
      const started = entry.limits[index]
      return started?.group === group && started.max === max
    })
    return (
      same && limits.length === entry.limits.length && this.#lane(lane) === entry.lane && precedes === entry.precedes
    )
  }

  release(key: string): void {
    const entry = this.#entries.get(key)
    invariant(entry !== undefined && entry.line === undefined, `release of ${key}, which is not in work`)
    this.#entries.delete(key)
    this.#inWork -= 1
    entry.lane.inWork -= 1
    if (entry.later) entry.lane.laterInWork -= 1
    for (const { group, max } of entry.limits) this.#uncount(group, max)
    this.#precede(entry, undefined)
  }

  #lane(index: number): Lane {
    const lane = this.#lanes[index]
    invariant(lane !== undefined, `no lane ${index}`)
    return lane
  }

  #enqueue(key: string, { lane: laneIndex, precedes }: Placement, later: boolean): void {
    const lane = this.#lane(laneIndex)
    this.#arrivals += 1
    const known = this.#entries.get(key)
    const entry: Entry = {
      key,
      turn: turnIn(lane, later),
      arrival: this.#arrivals,
      later,
      lane,
      line: undefined,
      group: undefined,
      limits: NO_LIMITS,
      precedes: known?.precedes,
      heapIndex: NOT_IN_HEAP,
    }
    this.#entries.set(key, entry)
    this.#precede(entry, precedes)
    join(entry, readyLine(entry), undefined)
  }

  #precede(entry: Entry, group: string | undefined): void {
    const before = entry.precedes
    if (before === group) return
    entry.precedes = group
    if (group !== undefined) this.#count(group, Number.POSITIVE_INFINITY)
    if (before !== undefined) this.#uncount(before, Number.POSITIVE_INFINITY)
  }

  #count(name: string, max: number): void {
    const group = this.#groups.get(name) ?? { name, counted: [], waiting: [] }
    this.#groups.set(name, group)
    group.counted.push(max)
  }

  #uncount(name: string, max: number): void {
    const group = this.#groups.get(name)
    const index = group?.counted.indexOf(max) ?? -1
    invariant(group !== undefined && index >= 0, `no key of ${max} counts in group ${name}`)
    group.counted.splice(index, 1)
    this.#letOn(group)
  }

  /** The preferred lane first, but for every fourth pick. */
  #order(): readonly Lane[] {
    if (this.#picks % SHARE_OF_OTHERS !== SHARE_OF_OTHERS - 1) return this.#lanes
    const first = this.#lanes.slice(1).filter((lane) => lane.inWork < this.#workers - this.#reservedBesides(lane))
    return [...first, ...this.#lanes.filter((lane) => !first.includes(lane))]
  }

  #reservedBesides(lane: Lane): number {
    return this.capacity - this.#workers - lane.reserved
  }

  /** Whether a worker is free, or what is reserved has room beyond them. */
  #hasRoom(lane: Lane, inWork: number): boolean {
    return (
      this.#inWork < this.#workers || (inWork < lane.reserved && this.#inWork < this.capacity - this.#keptFrom(lane))
    )
  }

  /** What other lanes may still start beyond the workers. */
  #keptFrom(lane: Lane): number {
    return this.#lanes.reduce(
      (sum, other) => (other === lane ? sum : sum + Math.max(0, other.reserved - other.inWork)),
      0,
    )
  }

  /** The first key of the lane for which there is room, also in all of its groups. Those before it go behind these. */
  #next(lane: Lane): Entry | undefined {
    if (!this.#hasRoom(lane, lane.inWork - lane.laterInWork)) return undefined
    const usualOnly = !this.#hasRoom(lane, lane.inWork)
    for (
      let entry = firstReady(lane.ready, usualOnly);
      entry !== undefined;
      entry = firstReady(lane.ready, usualOnly)
    ) {
      const placement = this.#place(entry.key)
      const { lane: laneNow, limits } = placement
      this.#precede(entry, placement.precedes)
      if (this.#lane(laneNow) !== lane) {
        this.#leaveLine(entry)
        this.#enqueue(entry.key, placement, entry.later)
        continue
      }
      entry.limits = limits
      const full = this.#fullGroup(limits)
      if (full === undefined) return entry
      this.#leaveLine(entry)
      join(entry, lineBehind(full, entry), full.group.name)
    }
    return undefined
  }

  #fullGroup(limits: readonly GroupLimit[]): FullGroup | undefined {
    for (const { group: name, max } of limits) {
      const group = this.#groups.get(name)
      if (group !== undefined && isFull(group, max)) return { group, max }
    }
    return undefined
  }

  #start(entry: Entry): string {
    for (const { group, max } of entry.limits) this.#count(group, max)
    this.#leaveLine(entry)
    entry.lane.now = Math.max(entry.lane.now, entry.turn)
    entry.lane.inWork += 1
    if (entry.later) entry.lane.laterInWork += 1
    this.#inWork += 1
    this.#picks += 1
    return entry.key
  }

  #leaveLine(entry: Entry): void {
    entry.line?.remove(entry)
    entry.line = undefined
    const group = entry.group === undefined ? undefined : this.#groups.get(entry.group)
    entry.group = undefined
    if (group !== undefined) this.#letOn(group)
  }

  /** Lets the next waiting keys back into their lanes if the group has room for them; forgets a group without keys. */
  #letOn(group: Group): void {
    for (const { max, entries } of group.waiting) {
      if (entries.size === 0 || isFull(group, max)) continue
      const entry = entries.pop()
      if (entry !== undefined) join(entry, readyLine(entry), group.name)
    }
    if (group.counted.length === 0 && group.waiting.every(({ entries }) => entries.size === 0)) {
      this.#groups.delete(group.name)
    }
  }
}
