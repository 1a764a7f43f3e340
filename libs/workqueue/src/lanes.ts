import { invariant, NOT_IN_HEAP } from '@csi-sidecars/base'
import { FAIRNESS_INTERVAL } from './fifo-order.ts'
import type { KeyOrder, KeyPriority } from './key-order.ts'
import {
  addToHeap,
  emptyLane,
  type FullGroup,
  firstReady,
  type Group,
  type GroupLimit,
  heapBlockedBy,
  isFull,
  type KeyLane,
  type KeyLaneOptions,
  type LaneEntry,
  nextTurn,
  type Placement,
  readyHeap,
} from './lane.ts'

const NO_LIMITS: readonly GroupLimit[] = []

/**
 * A key order whose lanes, for example one for attaches and one for detaches, share `workers` workers.
 *
 * Guarantees:
 * - No worker is idle while a key could start: one lane may occupy all workers.
 * - A lane starts as many keys as it has reserved even if hanging work of other lanes occupies all workers.
 * - At most `capacity` keys are in work.
 * - The reserve of a lane is for normal keys first, so that hanging retries never starve new work.
 * - The first lane is preferred. Every fourth started key is of another lane, unless it would occupy a reserve.
 * - A group never has more keys in work than its limit. A full group delays only the keys of the group.
 * - Keys of a lane start in the order of their arrival, except retries and keys of full groups.
 */
export class Lanes implements KeyOrder {
  /** The maximum number of keys in progress: the workers and the additional normal keys. */
  readonly capacity: number
  readonly #workers: number
  readonly #lanes: readonly KeyLane[]
  readonly #placementOf: (key: string) => Placement
  readonly #entries = new Map<string, LaneEntry>()
  readonly #groups = new Map<string, Group>()
  #arrivals = 0
  #inWork = 0
  #picks = 0

  /**
   * `placementOf` is called when a key is added and when its turn comes, so it must be cheap and must not throw. Call
   * `touch` if its result changes for a waiting key.
   */
  constructor(options: { workers: number; lanes: readonly KeyLaneOptions[]; placementOf: (key: string) => Placement }) {
    const { workers, lanes, placementOf } = options
    this.#workers = workers
    this.capacity = workers <= 0 ? 0 : lanes.reduce((sum, { reserved }) => sum + reserved, workers)
    this.#placementOf = placementOf
    this.#lanes = lanes.map(emptyLane)
  }

  get length(): number {
    return this.#entries.size - this.#inWork
  }

  push(key: string, priority: KeyPriority = 'normal'): void {
    this.#enqueue(key, this.#placementOf(key), priority)
  }

  /**
   * Moves a waiting key whose placement has changed. A key with another lane goes to the end of that lane, and a retry
   * becomes a normal key. A key that no longer belongs to the group that it waits for returns to its lane.
   */
  touch(key: string): void {
    const entry = this.#entries.get(key)
    if (entry?.heap === undefined) return
    const placement = this.#placementOf(key)
    const { lane, limits } = placement
    this.#block(entry, placement.blocks)
    if (this.#lane(lane) !== entry.lane || entry.priority === 'retry') {
      this.#leaveHeap(entry)
      this.#enqueue(key, placement, 'normal')
    } else if (entry.heap !== readyHeap(entry) && !limits.some(({ group }) => group === entry.group)) {
      this.#leaveHeap(entry)
      addToHeap(entry, readyHeap(entry), undefined)
    }
  }

  pop(): string | undefined {
    const lastArrival = this.#arrivals
    for (const lane of this.#lanesInTurn()) {
      const entry = this.#next(lane)
      if (entry !== undefined) return this.#start(entry)
    }
    // If a key has moved to a lane that was already searched, the search starts again.
    return this.#arrivals === lastArrival ? undefined : this.pop()
  }

  blockedBy(key: string): string | undefined {
    const entry = this.#entries.get(key)
    return entry?.heap === undefined || entry.heap === readyHeap(entry) ? undefined : entry.group
  }

  /** Reports whether `placementOf` still returns the lane and groups of the running key. */
  placementUnchanged(key: string): boolean {
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.heap !== undefined) return false
    const { lane, limits, blocks } = this.#placementOf(key)
    const same = limits.every(({ group, max }, index) => {
      const started = entry.limits[index]
      return started?.group === group && started.max === max
    })
    return same && limits.length === entry.limits.length && this.#lane(lane) === entry.lane && blocks === entry.blocks
  }

  release(key: string): void {
    const entry = this.#entries.get(key)
    invariant(entry !== undefined && entry.heap === undefined, `release of ${key}, which is not in work`)
    this.#entries.delete(key)
    this.#inWork -= 1
    entry.lane.inWork -= 1
    if (entry.priority === 'retry') entry.lane.retriesInWork -= 1
    for (const { group, max } of entry.limits) this.#uncount(group, max)
    this.#block(entry, undefined)
  }

  #lane(index: number): KeyLane {
    const lane = this.#lanes[index]
    invariant(lane !== undefined, `no lane ${index}`)
    return lane
  }

  #enqueue(key: string, { lane: laneIndex, blocks }: Placement, priority: KeyPriority): void {
    const lane = this.#lane(laneIndex)
    this.#arrivals += 1
    const existing = this.#entries.get(key)
    const entry: LaneEntry = {
      key,
      turn: nextTurn(lane, priority),
      arrival: this.#arrivals,
      priority,
      lane,
      heap: undefined,
      group: undefined,
      limits: NO_LIMITS,
      blocks: existing?.blocks,
      heapIndex: NOT_IN_HEAP,
    }
    this.#entries.set(key, entry)
    this.#block(entry, blocks)
    addToHeap(entry, readyHeap(entry), undefined)
  }

  #block(entry: LaneEntry, group: string | undefined): void {
    const before = entry.blocks
    if (before === group) return
    entry.blocks = group
    if (group !== undefined) this.#count(group, Number.POSITIVE_INFINITY)
    if (before !== undefined) this.#uncount(before, Number.POSITIVE_INFINITY)
  }

  #count(name: string, max: number): void {
    const group = this.#groups.get(name) ?? { name, limitsInUse: [], blocked: [] }
    this.#groups.set(name, group)
    group.limitsInUse.push(max)
  }

  #uncount(name: string, max: number): void {
    const group = this.#groups.get(name)
    const index = group?.limitsInUse.indexOf(max) ?? -1
    invariant(group !== undefined && index >= 0, `no key of ${max} counts in group ${name}`)
    group.limitsInUse.splice(index, 1)
    this.#admitWaiting(group)
  }

  /** Returns the lanes by preference, which changes at every fourth start. */
  #lanesInTurn(): readonly KeyLane[] {
    if (this.#picks % FAIRNESS_INTERVAL !== FAIRNESS_INTERVAL - 1) return this.#lanes
    const first = this.#lanes.slice(1).filter((lane) => lane.inWork < this.#workers - this.#reservedBesides(lane))
    return [...first, ...this.#lanes.filter((lane) => !first.includes(lane))]
  }

  #reservedBesides(lane: KeyLane): number {
    return this.capacity - this.#workers - lane.reserved
  }

  /** Reports whether the lane may start a key: a worker is free, or the lane has a reserve left. */
  #hasRoom(lane: KeyLane, inWork: number): boolean {
    return (
      this.#inWork < this.#workers ||
      (inWork < lane.reserved && this.#inWork < this.capacity - this.#reservedByOthers(lane))
    )
  }

  /** Returns how many keys other lanes may still start in addition to the workers. */
  #reservedByOthers(lane: KeyLane): number {
    return this.#lanes.reduce(
      (sum, other) => (other === lane ? sum : sum + Math.max(0, other.reserved - other.inWork)),
      0,
    )
  }

  /** Returns the first key of the lane that can start. Keys before this key wait for a group from now on. */
  #next(lane: KeyLane): LaneEntry | undefined {
    if (!this.#hasRoom(lane, lane.inWork - lane.retriesInWork)) return undefined
    const normalOnly = !this.#hasRoom(lane, lane.inWork)
    for (
      let entry = firstReady(lane.ready, normalOnly);
      entry !== undefined;
      entry = firstReady(lane.ready, normalOnly)
    ) {
      const placement = this.#placementOf(entry.key)
      const { lane: laneNow, limits } = placement
      this.#block(entry, placement.blocks)
      if (this.#lane(laneNow) !== lane) {
        this.#leaveHeap(entry)
        this.#enqueue(entry.key, placement, entry.priority)
        continue
      }
      entry.limits = limits
      const full = this.#fullGroup(limits)
      if (full === undefined) return entry
      this.#leaveHeap(entry)
      addToHeap(entry, heapBlockedBy(full, entry), full.group.name)
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

  #start(entry: LaneEntry): string {
    for (const { group, max } of entry.limits) this.#count(group, max)
    this.#leaveHeap(entry)
    entry.lane.now = Math.max(entry.lane.now, entry.turn)
    entry.lane.inWork += 1
    if (entry.priority === 'retry') entry.lane.retriesInWork += 1
    this.#inWork += 1
    this.#picks += 1
    return entry.key
  }

  #leaveHeap(entry: LaneEntry): void {
    entry.heap?.remove(entry)
    entry.heap = undefined
    const group = entry.group === undefined ? undefined : this.#groups.get(entry.group)
    entry.group = undefined
    if (group !== undefined) this.#admitWaiting(group)
  }

  /** Returns the next waiting key to its lane if the group has room. Forgets a group without keys. */
  #admitWaiting(group: Group): void {
    for (const { max, entries } of group.blocked) {
      if (entries.size === 0 || isFull(group, max)) continue
      const entry = entries.pop()
      if (entry !== undefined) addToHeap(entry, readyHeap(entry), group.name)
    }
    if (group.limitsInUse.length === 0 && group.blocked.every(({ entries }) => entries.size === 0)) {
      this.#groups.delete(group.name)
    }
  }
}
