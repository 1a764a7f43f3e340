import type { Clock } from '@csi-sidecars/base'
import { between, type Random } from './random.ts'

export interface Timed<Step> {
  /** Since the step before. */
  readonly afterMs: number
  readonly step: Step
}

/** Each step at a random moment of the time. */
export function scattered<Step>(random: Random, ms: number, steps: readonly Step[]): readonly Timed<Step>[] {
  const placed = steps.map((step) => ({ atMs: between(random, 1, ms), step })).toSorted((a, b) => a.atMs - b.atMs)
  return placed.map(({ atMs, step }, index) => ({ afterMs: atMs - (placed[index - 1]?.atMs ?? 0), step }))
}

/** Performs the steps in their order. A step that takes longer than its successor waits delays it. */
export async function play<Step>(
  plan: readonly Timed<Step>[],
  perform: (step: Step) => Promise<void> | void,
  { clock, signal }: { readonly clock: Clock; readonly signal?: AbortSignal },
): Promise<void> {
  let due = clock.monotonic()
  for (const { afterMs, step } of plan) {
    due = Math.max(due + afterMs, clock.monotonic())
    await clock.sleep(Math.max(0, due - clock.monotonic()), signal)
    await perform(step)
  }
}
