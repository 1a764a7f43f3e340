import { type Outcome, SETTLED, updateLatest } from '@csi-sidecars/controller'
import { isMissing } from '@csi-sidecars/kube-client'
import type { ResizerClaim } from '../caches/claim.ts'
import { CONFLICT_TRIES, confirmLastWrite, isStillCached, readClaimIntoCache } from './api.ts'
import type { ResizerClaimDeps, ResizerClaimRun } from './run.ts'

interface HasClaim {
  readonly claim: ResizerClaim
}

/** The result of `begin`: the `work` for the driver, or the outcome if the run ends without a call. */
export type ClaimBeginning<W> = { readonly work: W } | { readonly outcome: Outcome }

/** The steps of a controller in a run over one claim. */
export interface ClaimSteps<V extends HasClaim, W extends HasClaim> {
  /** Reads the state of the claim. Returns undefined if the claim is gone. */
  observe(): V | undefined | Promise<V | undefined>
  /** Performs the steps before the call to the driver. */
  begin(view: V): Promise<ClaimBeginning<W>>
  wrapBeginError(cause: unknown): Error
  /** Calls the driver and records the result. */
  perform(work: W): Promise<Outcome>
  forget(claim: ResizerClaim): void
}

/**
 * Runs once for one claim: records the start, calls the driver, records the result. The run holds the claim's mutex
 * while it reads and writes the claim, but not during the call to the driver.
 */
export async function reconcileClaim<V extends HasClaim, W extends HasClaim>(
  run: ResizerClaimRun<ResizerClaimDeps>,
  steps: ClaimSteps<V, W>,
): Promise<Outcome> {
  const beginning = await run.deps.mutex.run(run.key, run.signal, () => begin(run, steps))
  if ('outcome' in beginning) return beginning.outcome
  const { work } = beginning
  try {
    return await steps.perform(work)
  } finally {
    // The results of a deleted claim must not count for a claim that is recreated under its name.
    if (!isStillCached(run, work.claim)) steps.forget(work.claim)
  }
}

/** Reads the claim and decides. Repeats this, up to a limit, if another writer changes the claim before our patch. */
async function begin<V extends HasClaim, W extends HasClaim>(
  run: ResizerClaimRun<ResizerClaimDeps>,
  steps: ClaimSteps<V, W>,
): Promise<ClaimBeginning<W>> {
  const readError = await confirmLastWrite(run)
  if (readError !== undefined) return { outcome: { kind: 'retry', cause: readError } }
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
      refresh: () => readClaimIntoCache(run),
    })
    if (begun.kind === 'written') return begun.saved
    run.log.v(3)?.info('PVC is deleted or does not exist')
    return { outcome: SETTLED }
  } catch (error) {
    run.signal.throwIfAborted()
    if (claim !== undefined && isMissing(error) && !isStillCached(run, claim)) return { outcome: SETTLED }
    return { outcome: { kind: 'retry', cause: steps.wrapBeginError(error) } }
  }
}
