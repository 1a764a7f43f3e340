import type { GroupLimit, Placement } from '../lane.ts'
import { Lanes } from '../lanes.ts'

export const ATTACH = 0
export const DETACH = 1

export interface LanesSetup {
  readonly lanes: Lanes
  /** Places a key from now on. The first letter of an unplaced key names its lane, without groups. */
  place(key: string, lane: number, ...limits: readonly GroupLimit[]): void
  /** Lets the key block other keys of the group. Its first letter names its lane. */
  precede(key: string, group: string): void
  push(...keys: readonly string[]): void
  /** Starts as many keys as may be started. */
  takeAll(): string[]
  release(...keys: readonly string[]): void
}

export function lanesOf(workers: number, reserved: readonly number[]): LanesSetup {
  const placements = new Map<string, Placement>()
  const byLetter = (key: string): Placement => ({ lane: key.startsWith('a') ? ATTACH : DETACH, limits: [] })
  const lanes = new Lanes({
    workers,
    lanes: reserved.map((each) => ({ reserved: each })),
    placementOf: (key) => placements.get(key) ?? byLetter(key),
  })
  return {
    lanes,
    place: (key, lane, ...limits) => void placements.set(key, { lane, limits }),
    precede: (key, blocks) => void placements.set(key, { ...byLetter(key), blocks }),
    push(...keys) {
      for (const key of keys) lanes.push(key)
    },
    takeAll() {
      const taken: string[] = []
      for (let key = lanes.take(); key !== undefined; key = lanes.take()) taken.push(key)
      return taken
    },
    release(...keys) {
      for (const key of keys) lanes.release(key)
    },
  }
}

export const numbered = (letter: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${letter}${n}`)
export const one = (group: string): GroupLimit => ({ group, max: 1 })
