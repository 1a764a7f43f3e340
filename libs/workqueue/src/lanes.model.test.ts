import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { KeyPriority } from './key-order.ts'
import type { Placement } from './lane.ts'
import { Lanes } from './lanes.ts'

const LIMITS = [
  { group: 'volume-1', max: 1 },
  { group: 'volume-2', max: 1 },
  { group: 'node-1', max: 2 },
  { group: 'node-2', max: 3 },
]
/** A group with three kinds of keys: keys that need the group alone, keys that share it, and keys that block it. */
const SHARED = [
  { group: 'shared', max: 1 },
  { group: 'shared', max: Number.POSITIVE_INFINITY },
]

type LaneClock = Record<KeyPriority | 'now', number>

const NOWHERE: Placement = { lane: 0, limits: [] }

/** A simple model of `Lanes`: it checks every waiting key and starts the earliest key that may start. */
class PlainLanes {
  readonly #workers: number
  readonly #reserved: readonly number[]
  readonly #placements: ReadonlyMap<string, Placement>
  /** The keys in the order of their arrival in their lane. */
  waiting: { key: string; lane: number; blocks: string | undefined; priority: KeyPriority; turn: number }[] = []
  /** The position of the last started key (`now`) and the next position of each priority, for each lane. */
  readonly #clocks = new Map<number, LaneClock>()
  readonly working = new Map<string, Placement & { readonly priority: KeyPriority }>()
  #picks = 0

  constructor(workers: number, reserved: readonly number[], placements: ReadonlyMap<string, Placement>) {
    this.#workers = workers
    this.#reserved = reserved
    this.#placements = placements
  }

  placementOf(key: string): Placement {
    return this.#placements.get(key) ?? NOWHERE
  }

  clockOf(lane: number): LaneClock {
    const clock = this.#clocks.get(lane) ?? { now: 0, normal: 0, retry: 0 }
    this.#clocks.set(lane, clock)
    return clock
  }

  push(key: string, priority: KeyPriority): void {
    const { lane, blocks } = this.placementOf(key)
    const clock = this.clockOf(lane)
    const turn = Math.max(clock.now, clock[priority])
    clock[priority] = turn + (priority === 'retry' ? 3 : 1)
    this.waiting.push({ key, lane, blocks, priority, turn })
  }

  touch(key: string): void {
    const entry = this.waiting.find((each) => each.key === key)
    if (entry === undefined) return
    entry.blocks = this.placementOf(key).blocks
    if (entry.lane === this.placementOf(key).lane && entry.priority === 'normal') return
    this.waiting = this.waiting.filter((each) => each !== entry)
    this.push(key, 'normal')
  }

  inWork(lane: number): number {
    return [...this.working.values()].filter((placement) => placement.lane === lane).length
  }

  normalInWork(lane: number): number {
    return [...this.working.values()].filter((placement) => placement.lane === lane && placement.priority === 'normal')
      .length
  }

  /** Returns the limits of the keys that count in a group: its running keys, and the keys that block it. */
  counted(group: string): number[] {
    const working = [...this.working.values()]
    const blocking = [...working, ...this.waiting].filter(({ blocks }) => blocks === group)
    const limits = working.flatMap(({ limits }) => limits.filter((limit) => limit.group === group))
    return [...limits.map(({ max }) => max), ...blocking.map(() => Number.POSITIVE_INFINITY)]
  }

  mayStart(key: string): boolean {
    return this.placementOf(key).limits.every(({ group, max }) => {
      const counted = this.counted(group)
      return counted.length < Math.min(max, ...counted)
    })
  }

  pop(): string | undefined {
    const lanes = [...this.#reserved.keys()]
    const all = this.#reserved.reduce((sum, each) => sum + each, 0)
    const reservedOf = (lane: number): number => this.#reserved[lane] ?? 0
    const turn = this.#picks % 4 === 3 ? lanes.slice(1) : []
    const first = turn.filter((lane) => this.inWork(lane) < this.#workers - (all - reservedOf(lane)))
    for (const lane of [...first, ...lanes.filter((each) => !first.includes(each))]) {
      const inWork = this.working.size
      const others = lanes.filter((each) => each !== lane)
      const kept = others.reduce((sum, each) => sum + Math.max(0, reservedOf(each) - this.inWork(each)), 0)
      const room = (priority: KeyPriority): boolean => {
        if (inWork < this.#workers) return true
        const running = priority === 'retry' ? this.inWork(lane) : this.normalInWork(lane)
        return running < reservedOf(lane) && inWork < this.#workers + all - kept
      }
      const inOrder = this.waiting.toSorted((a, b) => a.turn - b.turn)
      const entry = inOrder.find(({ key, lane: at, priority }) => at === lane && room(priority) && this.mayStart(key))
      if (entry === undefined) continue
      this.waiting = this.waiting.filter((each) => each !== entry)
      this.working.set(entry.key, { ...this.placementOf(entry.key), priority: entry.priority })
      const clock = this.clockOf(lane)
      clock.now = Math.max(clock.now, entry.turn)
      this.#picks += 1
      return entry.key
    }
    return undefined
  }
}

const key = fc.nat(11).map((number) => `key-${number}`)
const placement = fc.oneof(
  { weight: 3, arbitrary: fc.record({ lane: fc.nat(2), limits: fc.subarray(LIMITS) }) },
  { weight: 1, arbitrary: fc.record({ lane: fc.nat(2), limits: fc.constantFrom(...SHARED).map((limit) => [limit]) }) },
  {
    weight: 1,
    arbitrary: fc.record({ lane: fc.nat(2), limits: fc.subarray(LIMITS), blocks: fc.constant('shared') }),
  },
)
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('add' as const),
      key,
      priority: fc.constantFrom<KeyPriority>('normal', 'retry'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('place' as const), key, placement }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('take' as const) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('release' as const), pick: fc.nat() }) },
)
const reserved = fc.tuple(fc.nat(2), fc.nat(2), fc.nat(2))
const sequence = fc.record({
  reserved,
  workers: fc.integer({ min: 1, max: 7 }),
  placements: fc.dictionary(key, placement),
  steps: fc.array(step, { maxLength: 120 }),
})

function build(drawn: typeof sequence extends fc.Arbitrary<infer Drawn> ? Drawn : never): {
  workers: number
  placements: Map<string, Placement>
  lanes: Lanes
} {
  const { workers } = drawn
  const placements = new Map(Object.entries(drawn.placements))
  const lanes = new Lanes({
    workers,
    lanes: drawn.reserved.map((each) => ({ reserved: each })),
    placementOf: (each) => placements.get(each) ?? NOWHERE,
  })
  return { workers, placements, lanes }
}

describe('lanes', () => {
  test('the lanes and a simple model start the same keys in the same order', () => {
    fc.assert(
      fc.property(sequence, (drawn) => {
        const { workers, placements, lanes } = build(drawn)
        const plain = new PlainLanes(workers, drawn.reserved, placements)
        const release = (each: string): void => {
          lanes.release(each)
          plain.working.delete(each)
        }
        for (const each of drawn.steps) {
          if (each.kind === 'add' || each.kind === 'place') {
            if (each.kind === 'place') placements.set(each.key, each.placement)
            const waits = plain.waiting.some((entry) => entry.key === each.key)
            if (waits) {
              lanes.touch(each.key)
              plain.touch(each.key)
            } else if (each.kind === 'add' && !plain.working.has(each.key)) {
              lanes.push(each.key, each.priority)
              plain.push(each.key, each.priority)
            }
          } else if (each.kind === 'take') {
            expect(lanes.pop()).toBe(plain.pop())
          } else {
            const [picked] = [...plain.working.keys()].slice(each.pick % Math.max(plain.working.size, 1))
            if (picked !== undefined) release(picked)
          }
          expect(lanes.length).toBe(plain.waiting.length)
          for (const { group, max } of LIMITS) expect(plain.counted(group).length).toBeLessThanOrEqual(max)
          expect(plain.working.size).toBeLessThanOrEqual(lanes.capacity)
        }
        while (plain.waiting.length > 0) {
          for (let next = plain.pop(); next !== undefined; next = plain.pop()) expect(lanes.pop()).toBe(next)
          expect(lanes.pop()).toBeUndefined()
          for (const each of plain.working.keys()) release(each)
        }
        expect(lanes.length).toBe(0)
      }),
      { numRuns: 400 },
    )
  })

  test('every key starts in the end, even if `touch` is not called after a change of its lane or groups', () => {
    fc.assert(
      fc.property(sequence, (drawn) => {
        const { placements, lanes } = build(drawn)
        const waiting = new Set<string>()
        const working = new Set<string>()
        const pop = (): string | undefined => {
          const popped = lanes.pop()
          if (popped === undefined) return undefined
          expect(waiting.delete(popped)).toBe(true)
          working.add(popped)
          expect(working.size).toBeLessThanOrEqual(lanes.capacity)
          return popped
        }
        const release = (each: string): void => {
          working.delete(each)
          lanes.release(each)
        }
        for (const each of drawn.steps) {
          if (each.kind === 'place') placements.set(each.key, each.placement)
          else if (each.kind === 'take') pop()
          else if (each.kind === 'release') {
            const [picked] = [...working].slice(each.pick % Math.max(working.size, 1))
            if (picked !== undefined) release(picked)
          } else if (!waiting.has(each.key) && !working.has(each.key)) {
            waiting.add(each.key)
            lanes.push(each.key, each.priority)
          }
          expect(lanes.length).toBe(waiting.size)
        }
        do for (const each of [...working]) release(each)
        while (pop() !== undefined)
        expect([[...waiting], lanes.length]).toEqual([[], 0])
      }),
      { numRuns: 400 },
    )
  })
})
