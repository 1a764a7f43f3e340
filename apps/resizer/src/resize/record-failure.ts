import type { Outcome } from '@csi-sidecars/controller'
import { isMissing, isTooManyRequests } from '@csi-sidecars/kube-client'
import type { ResizerClaim } from '../caches/claim.ts'
import { patchClaim, patchFailureText } from '../claim/api.ts'
import { recordEvent } from '../claim/events.ts'
import { priorityOf } from '../claim/run.ts'
import { RESIZE_EVENTS } from './events.ts'
import { type ExpandFailure, expandFailure } from './failure.ts'
import { nextSize } from './next-size.ts'
import { failedPatch } from './patches.ts'
import { type ControllerExpansion, type ResizeRun, resizeFailed } from './run.ts'

/** Records that the driver has not expanded the volume, or could not be called. */
export async function recordFailure(run: ResizeRun, expansion: ControllerExpansion, error: unknown): Promise<Outcome> {
  // A shutdown or a lost lease has cancelled the run. The volume has not failed, and the next leader tries again.
  run.signal.throwIfAborted()
  const { deps, key } = run
  const { claim, volume } = expansion
  const failure = expandFailure(error, deps.driver?.lost === true)
  remember(run, claim, failure)
  const message = resizeFailed(run, volume.key, failure.message)
  let cause = new Error(message, { cause: error })
  if (failure.kind !== 'uncertain') {
    const unsaved = await saveFailure(run, claim, failure)
    if (unsaved !== undefined) {
      const text = `resizing failed in controller with ${failure.message} but failed to update PVC ${key} with: `
      cause = new Error(`${text}${unsaved}`, { cause: error })
    }
  }
  if (failure.isReported) recordEvent(run, claim, RESIZE_EVENTS.failed(cause.message))
  return { kind: needsOtherSize(run, expansion, failure) ? 'superseded' : 'retry', cause }
}

/** Reports whether a size other than the failed size is due now. */
function needsOtherSize(run: ResizeRun, expansion: ControllerExpansion, { kind }: ExpandFailure): boolean {
  if (kind === 'uncertain') return false
  const size = nextSize(run, expansion, { finallyFailed: true })
  return size !== undefined && !size.equals(expansion.target)
}

function remember({ deps, key }: ResizeRun, claim: ResizerClaim, failure: ExpandFailure): void {
  const { memory, inUse } = deps
  if (failure.isInUse) inUse?.addRefusal(claim)
  if (failure.kind === 'uncertain') memory.finallyFailed.delete(key)
  else memory.finallyFailed.add(key)
  // A pause that the driver asks for replaces the delay of an infeasible request.
  if (failure.kind !== 'infeasible' || failure.pauseMs > 0) memory.infeasibleClaims.remove(key)
}

/** Writes the driver's error to the claim. If the write fails, returns the error of the write. */
async function saveFailure(run: ResizeRun, begun: ResizerClaim, failure: ExpandFailure): Promise<string | undefined> {
  const { deps, key, signal } = run
  const error = { message: failure.message, infeasible: failure.kind === 'infeasible' }
  try {
    await deps.mutex.run(key, signal, async () => {
      const claim = deps.claims.store.get(key)
      if (claim?.uid === begun.uid) await patchClaim(run, failedPatch(claim, error, deps.clock.now()), priorityOf(run))
    })
    return undefined
  } catch (cause) {
    signal.throwIfAborted()
    if (isMissing(cause) || isTooManyRequests(cause)) return undefined
    return `mark PVC "${key}" as controller expansion failed, errored with: ${patchFailureText(key, cause)}`
  }
}
