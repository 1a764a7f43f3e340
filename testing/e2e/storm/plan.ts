import { between, pick, type Random, scattered, seeded, type Timed } from '@csi-sidecars/disturb'
import type { AttachmentMove, ClaimMove } from '../model/moves.ts'

/** What happens to everything at once. */
export type GroundMove = {
  readonly of: 'ground'
  readonly do: 'cutWatches' | 'compact' | 'killAttacher' | 'killResizer' | 'killDriver'
  readonly forMs: number
}

export type Move = AttachmentMove | ClaimMove | GroundMove

export interface StormOptions {
  readonly seed: number
  readonly seconds: number
  /** Attachments, and as many claims. */
  readonly objects: number
}

export const NODES = 4
/** So often, on an average, a user does something to each object. */
const MOVES_EACH = 4
const GROUND_MOVE_EVERY_MS = 2500
const LONGEST_OUTAGE_MS = 2000

/** A volume in four may be on two nodes, so there are fewer volumes than attachments. */
export function volumesOf(objects: number): number {
  return Math.max(1, Math.round(objects * 0.8))
}

/** All that is done in a storm, in its order. */
export function planOf({ seed, seconds, objects }: StormOptions): readonly Timed<Move>[] {
  const random = seeded(seed, 'plan')
  const ms = seconds * 1000
  const moves = objects * MOVES_EACH
  return scattered<Move>(random, ms, [
    ...Array.from({ length: moves }, () => attachmentMove(random, objects)),
    ...Array.from({ length: moves }, () => claimMove(random, objects)),
    ...Array.from({ length: Math.ceil(ms / GROUND_MOVE_EVERY_MS) }, () => groundMove(random)),
  ])
}

function attachmentMove(random: Random, objects: number): AttachmentMove {
  return {
    of: 'attachment',
    do: pick(random, ['toggle', 'toggle', 'toggle', 'move', 'move', 'again', 'again', 'volumeAgain']),
    index: between(random, 0, volumesOf(objects) - 1),
    node: between(random, 0, NODES - 1),
  }
}

function claimMove(random: Random, objects: number): ClaimMove {
  return {
    of: 'claim',
    do: pick(random, ['grow', 'grow', 'lower', 'lower', 'modify', 'modify', 'again', 'flag']),
    index: between(random, 0, objects - 1),
    amount: between(random, 1, 3),
  }
}

function groundMove(random: Random): GroundMove {
  return {
    of: 'ground',
    do: pick(random, ['cutWatches', 'cutWatches', 'compact', 'killAttacher', 'killResizer', 'killDriver']),
    forMs: between(random, 1, LONGEST_OUTAGE_MS),
  }
}
