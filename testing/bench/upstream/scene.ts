import { type Figures, SIDES, type Side } from './figures.ts'
import type { Ground } from './ground.ts'

/** The settings and the helpers that each bench scene receives. */
export interface Bench {
  readonly rounds: number
  readonly figures: Figures
  readonly printLine: (line: string) => void
  /** Returns the number of objects multiplied by `--scale`, but at least 2. */
  sized(count: number): number
  /** Starts an empty API server for the scene. The caller disposes of it. */
  ground(): Promise<Ground>
}

export interface BenchScene {
  /** The name of the scene for `--only`. */
  readonly name: string
  readonly title: string
  /** The facts that a reader needs to interpret the figures. */
  readonly conditions: string
  run(bench: Bench): Promise<void>
}

/** Measures our sidecar and the original in turn. The first side alternates, because the second has a warm machine. */
export async function interleaved(
  { rounds, printLine }: Pick<Bench, 'rounds' | 'printLine'>,
  measure: (side: Side, round: number) => Promise<void>,
): Promise<void> {
  for (let round = 1; round <= rounds; round += 1) {
    for (const side of round % 2 === 1 ? SIDES : SIDES.toReversed()) {
      printLine(`  round ${round}, ${side === 'ours' ? 'ours' : 'the original'}`)
      await measure(side, round)
    }
  }
}
