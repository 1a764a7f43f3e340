import type { Figures } from './figures.ts'
import type { Ground } from './ground.ts'
import { SIDES, type Side } from './side.ts'

/** The tools that a scene receives. */
export interface Bench {
  readonly rounds: number
  readonly figures: Figures
  readonly printLine: (line: string) => void
  /** Adapts a number of objects to the size of the run. A rehearsal uses smaller numbers. */
  sized(count: number): number
  /** An API server with nothing in it; it is removed with the objects of the scene. */
  ground(): Promise<Ground>
}

export interface BenchScene {
  /** The name for `--only`. */
  readonly name: string
  readonly title: string
  /** The facts that a reader needs to interpret the figures. */
  readonly conditions: string
  run(bench: Bench): Promise<void>
}

/** Both sides in turn, round by round; who is first alternates, so that neither has the warm machine always. */
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
