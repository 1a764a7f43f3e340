import { invariant } from '@csi-sidecars/base'

/**
 * A check of a decision. It returns the steps that it adds to the plan, or undefined if it adds none. A decision is a
 * list of checks, so that a reader sees all rules in their order.
 */
export type PlanCheck<Facts, Step> = (facts: Facts) => PlanCheckResult<Step>

/** The steps that a check adds to the plan. `isLast` skips the other checks. Undefined: the check adds no steps. */
export type PlanCheckResult<Step> = { readonly steps: readonly Step[]; readonly isLast: boolean } | undefined

/**
 * Returns the steps of all checks in their order, up to the check that ends the plan.
 *
 * Guarantees: pure, if the checks are. No check after the last one is asked, so a check may rely on the facts that
 * earlier checks have verified (`checked`).
 *
 * Caveats: a plan may be empty, or end without a step that ends the run. The caller decides what follows then.
 *
 * Errors: those of the checks.
 */
export function planOf<Facts, Step>(checks: readonly PlanCheck<Facts, Step>[], facts: Facts): readonly Step[] {
  const plan: Step[] = []
  for (const check of checks) {
    const result = check(facts)
    if (result === undefined) continue
    plan.push(...result.steps)
    if (result.isLast) break
  }
  return plan
}

/** Adds these steps to the plan, and continues with the next check. */
export function next<Step>(...steps: readonly Step[]): PlanCheckResult<Step> {
  return { steps, isLast: false }
}

/** Ends the plan with these steps. */
export function endPlan<Step>(...steps: readonly Step[]): PlanCheckResult<Step> {
  return { steps, isLast: true }
}

/** Returns a fact that an earlier check has verified. Throws if it is undefined. */
export function checked<T>(fact: T | undefined): T {
  invariant(fact !== undefined, 'an earlier check ends the plan without this fact')
  return fact
}
