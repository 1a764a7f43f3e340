import type { Chance } from '../faults/case.ts'
import { chanceOf } from '../faults/seeded.ts'

/** What somebody does to attachments of one volume. */
export type AttachmentMove = {
  readonly of: 'attachment'
  /** `move` deletes and makes one on another node at once; `again` strips the finalizers and makes it again. */
  readonly do: 'toggle' | 'move' | 'again' | 'volumeAgain'
  readonly index: number
  readonly node: number
}

/** What somebody does to one claim. */
export type ClaimMove = {
  readonly of: 'claim'
  readonly do: 'grow' | 'lower' | 'modify' | 'again' | 'flag'
  readonly index: number
  readonly amount: number
}

/** What happens to everything at once. */
export type GroundMove = {
  readonly of: 'ground'
  readonly do: 'cutWatches' | 'compact' | 'killAttacher' | 'killResizer' | 'killDriver'
  readonly forMs: number
}

export type Move = AttachmentMove | ClaimMove | GroundMove

export interface Planned {
  readonly atMs: number
  readonly move: Move
}

export interface StormOptions {
  readonly seed: number
  readonly seconds: number
  /** Attachments, and as many claims. */
  readonly objects: number
}

export const NODES = 4
/** So often, on an average, somebody does something to each object. */
const MOVES_EACH = 4
const GROUND_MOVE_EVERY_MS = 2500
const LONGEST_OUTAGE_MS = 2000

/** A volume in four may be on two nodes, so there are fewer volumes than attachments. */
export function volumesOf(objects: number): number {
  return Math.max(1, Math.round(objects * 0.8))
}

export function isShared(index: number): boolean {
  return index % 4 === 0
}

/** All that is done in a storm, in its order. */
export function planOf({ seed, seconds, objects }: StormOptions): readonly Planned[] {
  const chance = chanceOf(seed, 'plan')
  const ms = seconds * 1000
  const at = (move: Move): Planned => ({ atMs: chance.upTo(ms), move })
  const attachments = Array.from({ length: objects * MOVES_EACH }, () => at(attachmentMove(chance, objects)))
  const claims = Array.from({ length: objects * MOVES_EACH }, () => at(claimMove(chance, objects)))
  const ground = Array.from({ length: Math.ceil(ms / GROUND_MOVE_EVERY_MS) }, () => at(groundMove(chance)))
  return [...attachments, ...claims, ...ground].toSorted((a, b) => a.atMs - b.atMs)
}

export function oneOf<T>(chance: Chance, all: readonly [T, ...T[]]): T {
  return all[chance.upTo(all.length) - 1] ?? all[0]
}

function attachmentMove(chance: Chance, objects: number): AttachmentMove {
  return {
    of: 'attachment',
    do: oneOf(chance, ['toggle', 'toggle', 'toggle', 'move', 'move', 'again', 'again', 'volumeAgain']),
    index: chance.upTo(volumesOf(objects)) - 1,
    node: chance.upTo(NODES) - 1,
  }
}

function claimMove(chance: Chance, objects: number): ClaimMove {
  return {
    of: 'claim',
    do: oneOf(chance, ['grow', 'grow', 'lower', 'lower', 'modify', 'modify', 'again', 'flag']),
    index: chance.upTo(objects) - 1,
    amount: chance.upTo(3),
  }
}

function groundMove(chance: Chance): GroundMove {
  return {
    of: 'ground',
    do: oneOf(chance, ['cutWatches', 'cutWatches', 'compact', 'killAttacher', 'killResizer', 'killDriver']),
    forMs: chance.upTo(LONGEST_OUTAGE_MS),
  }
}
