import { type Outcome, SETTLED, updateLatest } from '@csi-sidecars/controller'
import { isMissing } from '@csi-sidecars/kube-client'
import type { ResizerClaim } from '../caches/claim.ts'
import { CONFLICT_TRIES, confirmLastWrite, isStillCached, readClaim } from './api.ts'
import type { ResizerClaimDeps, ResizerClaimRun } from './run.ts'

interface OfClaim {
  readonly claim: ResizerClaim
}

/** The result of `begin`: the `work` for the driver, or the outcome if the run ends without a call. */
export type ClaimBeginning<W> = { readonly work: W } | { readonly end: Outcome }

/** The steps of a controller in a run over one claim. */
export interface ClaimSteps<V extends OfClaim, W extends OfClaim> {
  /** Reads the state of the claim. Returns undefined if the claim is gone. */
  observe(): V | undefined | Promise<V | undefined>
  /** Performs the steps before the call to the driver. */
  begin(view: V): Promise<ClaimBeginning<W>>
  cannotBegin(cause: unknown): Error
  /** Calls the driver and records the result. */
  perform(work: W): Promise<Outcome>
  forget(claim: ResizerClaim): void
}

/**
 * Runs once for one claim: records the start, calls the driver, records the result. The run holds the claim's mutex
 * while it reads and writes the claim, but not during the call to the driver.
 */
export async function reconcileClaim<V extends OfClaim, W extends OfClaim>(
  run: ResizerClaimRun<ResizerClaimDeps>,
  steps: ClaimSteps<V, W>,
): Promise<Outcome> {
  const beginning = await run.deps.mutex.run(run.key, run.signal, () => begin(run, steps))
  if ('end' in beginning) return beginning.end
  const { work } = beginning
  try {
    return await steps.perform(work)
  } finally {
    // The results of a deleted claim must not count for a claim that is recreated under its name.
    if (!isStillCached(run, work.claim)) steps.forget(work.claim)
  }
}

/** Reads the claim and decides. Repeats this, up to a limit, if another writer changes the claim before our patch. */
async function begin<V extends OfClaim, W extends OfClaim>(
  run: ResizerClaimRun<ResizerClaimDeps>,
  steps: ClaimSteps<V, W>,
): Promise<ClaimBeginning<W>> {
  const unread = await confirmLastWrite(run)
  if (unread !== undefined) return { end: { kind: 'retry', cause: unread } }
  let claim: ResizerClaim | undefined
  try {
    const begun = await updateLatest({
      tries: CONFLICT_TRIES,
      latest: () => run.observe(() => steps.observe()),
      build: (view) => view,
      send: (view) => {
        claim = view.claim
        return steps.begin(view)
      },
      refresh: () => readClaim(run),
    })
    if (begun.kind === 'written') return begun.saved
    run.log.v(3)?.info('PVC is deleted or does not exist')
    return { end: SETTLED }
  } catch (error) {
    run.signal.throwIfAborted()
    if (claim !== undefined && isMissing(error) && !isStillCached(run, claim)) return { end: SETTLED }
    return { end: { kind: 'retry', cause: steps.cannotBegin(error) } }
  }
}
