import type { Clock } from '@csi-sidecars/base'

/** A violation of an invariant. */
export interface BrokenInvariant {
  /** The name of the invariant. */
  readonly rule: string
  readonly text: string
  /** The name of the object, so that a report can add facts about the object. */
  readonly about?: string
}

/** A named rule that a state must satisfy. */
export interface Invariant<State> {
  readonly name: string
  /** Returns one text for each violation of the rule in the state. */
  readonly broken: (state: State) => readonly (string | Omit<BrokenInvariant, 'rule'>)[]
}

/** The pace and the time limit of a repeated check, in milliseconds. */
export interface Convergence {
  readonly clock: Clock
  readonly withinMs: number
  readonly everyMs: number
  readonly signal?: AbortSignal
}

export function findingsIn<State>(invariants: readonly Invariant<State>[], state: State): readonly BrokenInvariant[] {
  return invariants.flatMap(({ name: rule, broken }) =>
    broken(state).map((each) => (typeof each === 'string' ? { rule, text: each } : { rule, ...each })),
  )
}

/** Repeats `readBroken` until it returns no findings or the time is over. Returns the last findings. */
export async function converge(
  readBroken: () => Promise<readonly BrokenInvariant[]> | readonly BrokenInvariant[],
  { clock, withinMs, everyMs, signal }: Convergence,
): Promise<readonly BrokenInvariant[]> {
  const end = clock.monotonic() + withinMs
  for (;;) {
    const findings = await readBroken()
    if (findings.length === 0 || clock.monotonic() >= end) return findings
    await clock.sleep(everyMs, signal)
  }
}
