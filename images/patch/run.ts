import type { Advisory } from './advisory.ts'
import { type Move, planPatch, type Shipped } from './decide.ts'

/** What a patch release reads and changes. */
export interface Workshop {
  readonly shipped: Shipped
  readonly advisories: readonly Advisory[]
  /** Moves the components in the tree. Throws if anything else would change. */
  apply(moves: readonly Move[]): void
  /** The command of a gate that is red; undefined if all are green. */
  redGate(): string | undefined
  propose(moves: readonly Move[]): void
}

export type Outcome =
  | { readonly kind: 'nothing' | 'proposed'; readonly open: readonly string[] }
  | { readonly kind: 'red'; readonly gate: string; readonly open: readonly string[] }

/** Proposes a patch release if there is a fix and every gate is green with it. */
export function runPatch(workshop: Workshop): Outcome {
  const { moves, open } = planPatch(workshop.advisories, workshop.shipped)
  if (moves.length === 0) return { kind: 'nothing', open }
  workshop.apply(moves)
  const gate = workshop.redGate()
  if (gate !== undefined) return { kind: 'red', gate, open }
  workshop.propose(moves)
  return { kind: 'proposed', open }
}
