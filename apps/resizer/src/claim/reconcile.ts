import { unreachable } from '@csi-sidecars/base'
import { type Outcome, objectOf, type QueueTrigger, SETTLED, type Trigger } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import { isConflict, isMissing } from '@csi-sidecars/kube-client'
import type { ResizerClaim } from '../caches/claim.ts'
import {
  CONFLICT_TRIES,
  confirmLastWrite,
  isKnown,
  type ResizerClaimDeps,
  type ResizerClaimRun,
  readClaim,
} from './run.ts'

interface OfClaim {
  readonly claim: ResizerClaim
}

/** The result of `begin`: the `work` for the driver, recorded in the claim, or the outcome of a run without a call. */
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
 * Runs over one claim: marks the start, calls the driver, records the result. The run holds the claim's mutex while it
 * reads and writes. It releases the mutex for the call, so that the other controller can call for the same volume.
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
    // If the claim was deleted during the run, its results must not count for a later claim of the same name.
    if (!isKnown(run, work.claim)) steps.forget(work.claim)
  }
}

/** Reads the claim and decides again, up to a limit, while other writers change it before our patch. */
async function begin<V extends OfClaim, W extends OfClaim>(
  run: ResizerClaimRun<ResizerClaimDeps>,
  steps: ClaimSteps<V, W>,
): Promise<ClaimBeginning<W>> {
  const unread = await confirmLastWrite(run)
  if (unread !== undefined) return { end: { kind: 'retry', cause: unread } }
  for (let left = CONFLICT_TRIES; ; left -= 1) {
    const view = await run.observe(() => steps.observe())
    if (view === undefined) {
      run.log.v(3)?.info('PVC is deleted or does not exist')
      return { end: SETTLED }
    }
    try {
      return await steps.begin(view)
    } catch (error) {
      run.signal.throwIfAborted()
      if (isMissing(error) && !isKnown(run, view.claim)) return { end: SETTLED }
      if (!isConflict(error) || left <= 1) return { end: { kind: 'retry', cause: steps.cannotBegin(error) } }
      await readClaim(run)
    }
  }
}

export type ClaimUpdate = InformerEvent<ResizerClaim> & { readonly type: 'updated' }

/** Returns a trigger for new claims and relevant updates. Only a run can see whether the volume is of this driver. */
export function claimTrigger(matters: (update: ClaimUpdate) => boolean): Trigger<ResizerClaim> {
  return (event) => {
    switch (event.type) {
      case 'added':
        return [event.object.key]
      case 'deleted':
        return []
      case 'updated':
        return matters(event) ? [event.after.key] : []
      default:
        return unreachable(event)
    }
  }
}

/**
 * Returns a trigger that ignores added and resynced claims without pending work. At a start nearly all claims have none,
 * and runs over them would take half of the CPU time.
 */
export function unlessAtRest(
  trigger: QueueTrigger<ResizerClaim>,
  isAtRest: (claim: ResizerClaim) => boolean,
): QueueTrigger<ResizerClaim> {
  return (event, queue) => {
    const isUnchanged = event.type === 'added' || (event.type === 'updated' && event.cause === 'resync')
    return isUnchanged && isAtRest(objectOf(event)) ? [] : trigger(event, queue)
  }
}
