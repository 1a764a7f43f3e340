import type { Clock } from '@csi-sidecars/base'
import { between, type Random } from './random.ts'

/** A step and the pause before it. */
export interface Timed<Step> {
  /** The pause after the previous step. */
  readonly afterMs: number
  readonly step: Step
}

/**
 * Steps with the pauses between them.
 *
 * Guarantees: the same seed gives the same plan, because all randomness comes from a `Random`. `play` keeps the order
 * of the steps.
 *
 * Caveats: a step that takes longer than the next pause delays the rest of the plan. Concurrent work of the program
 * under test is not part of the plan, so the same plan may have another result.
 *
 * Errors: `play` rejects with the error of a step, or with the reason of its signal; later steps are not performed.
 */
export type Plan<Step> = readonly Timed<Step>[]

/** A step and its moment, in milliseconds since the start of the plan. */
export interface PlannedStep<Step> {
  readonly atMs: number
  readonly step: Step
}

/** Returns a plan that performs each step at its moment. Steps of one moment keep their order. */
export function inOrder<Step>(placed: readonly PlannedStep<Step>[]): Plan<Step> {
  const sorted = placed.toSorted((a, b) => a.atMs - b.atMs)
  return sorted.map(({ atMs, step }, index) => ({ afterMs: atMs - (sorted[index - 1]?.atMs ?? 0), step }))
}

/** Returns a plan that performs each step at a random moment within `ms` milliseconds. */
export function scattered<Step>(random: Random, ms: number, steps: readonly Step[]): Plan<Step> {
  return inOrder(steps.map((step) => ({ atMs: between(random, 1, ms), step })))
}

/** Performs the steps in order, each at its time. A step that is longer than the next pause delays all later steps. */
export async function play<Step>(
  plan: Plan<Step>,
  perform: (step: Step) => Promise<void> | void,
  { clock, signal }: { readonly clock: Clock; readonly signal?: AbortSignal },
): Promise<void> {
  let nextAt = clock.monotonic()
  for (const { afterMs, step } of plan) {
    nextAt = Math.max(nextAt + afterMs, clock.monotonic())
    await clock.sleep(Math.max(0, nextAt - clock.monotonic()), signal)
    await perform(step)
  }
}
