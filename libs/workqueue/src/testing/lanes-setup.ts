import type { GroupLimit, Placement } from '../lane.ts'
import { Lanes } from '../lanes.ts'

export const ATTACH = 0
export const DETACH = 1

/** The lanes of one test, with functions that place, start and release keys by name. */
export interface LanesSetup {
  readonly lanes: Lanes
  /** Sets the placement of a key. Default: ATTACH for keys that begin with `a`, and DETACH for other keys. */
  place(key: string, lane: number, ...limits: readonly GroupLimit[]): void
  /** Makes the key block other keys of the group. */
  precede(key: string, group: string): void
  push(...keys: readonly string[]): void
  /** Starts all keys that can start, and returns them. */
  popAll(): string[]
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
    popAll() {
      const popped: string[] = []
      for (let key = lanes.pop(); key !== undefined; key = lanes.pop()) popped.push(key)
      return popped
    },
    release(...keys) {
      for (const key of keys) lanes.release(key)
    },
  }
}

export const numbered = (letter: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${letter}${n}`)
export const one = (group: string): GroupLimit => ({ group, max: 1 })
