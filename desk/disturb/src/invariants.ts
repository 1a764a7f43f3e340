import type { Clock } from '@csi-sidecars/base'

/** A violation of an invariant. */
export interface BrokenInvariant {
  /** The name of the invariant. */
  readonly rule: string
  readonly text: string
  /** The name of the object, so that a report can add facts about the object. */
  readonly subject?: string
}

/** A named rule that a state must satisfy. */
export interface Invariant<State> {
  readonly name: string
  /** Returns one text for each violation of the rule in the state. */
  readonly broken: (state: State) => readonly (string | Omit<BrokenInvariant, 'rule'>)[]
}

/** The pace and the limit of a repeated check. */
export interface Convergence {
  readonly clock: Clock
  /** The number of checks. A machine that stalls delays the checks, but does not use them up. */
  readonly maxChecks: number
  /** The pause between two checks, in milliseconds. */
  readonly everyMs: number
  readonly signal?: AbortSignal
}

export function findingsIn<State>(invariants: readonly Invariant<State>[], state: State): readonly BrokenInvariant[] {
  return invariants.flatMap(({ name: rule, broken }) =>
    broken(state).map((each) => (typeof each === 'string' ? { rule, text: each } : { rule, ...each })),
  )
}

/** Repeats `readBroken` until it returns no findings, `maxChecks` times at most. Returns the last findings. */
export async function converge(
  readBroken: () => Promise<readonly BrokenInvariant[]> | readonly BrokenInvariant[],
  { clock, maxChecks, everyMs, signal }: Convergence,
): Promise<readonly BrokenInvariant[]> {
  for (let checks = 1; ; checks += 1) {
    const findings = await readBroken()
    if (findings.length === 0 || checks >= maxChecks) return findings
    await clock.sleep(everyMs, signal)
  }
}
