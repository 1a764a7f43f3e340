import { messageOf } from '@csi-sidecars/base'
import { AGAIN, type Outcome, SETTLED, type UpdateResult, updateLatest, WORK_COMPLETED } from '@csi-sidecars/controller'
import { isConflict, isMissing, isTooManyRequests } from '@csi-sidecars/kube-client'
import { Quantity } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import {
  CONFLICT_TRIES,
  cachedClaimOf,
  isStillCached,
  patchClaim,
  patchFailureText,
  readClaimIntoCache,
} from '../claim/api.ts'
import { recordEvent } from '../claim/events.ts'
import { patchVolume } from '../claim/patch-volume.ts'
import { isVolumeReplaced, replacedOutcome } from '../claim/replaced-volume.ts'
import { RESIZE_EVENTS } from './events.ts'
import type { Expanded } from './expand.ts'
import { nextSize } from './next-size.ts'
import { capacityPatch, finishedPatch, nodeStepPatch, preResizeText } from './patches.ts'
import type { ControllerExpansion, ResizeRun } from './run.ts'

/** Records a successful expansion: first in the PersistentVolume, then in the claim. */
export async function recordSuccess(
  run: ResizeRun,
  expansion: ControllerExpansion,
  expanded: Expanded,
): Promise<Outcome> {
  const { deps, key, signal } = run
  deps.memory.finallyFailed.delete(key)
  deps.memory.infeasibleClaims.remove(key)
  try {
    await saveCapacity(run, expansion, expanded)
  } catch (error) {
    return replacedOutcome(run, expansion.volume, error) ?? outcomeOfUnsaved(run, expansion, error)
  }
  const { claim } = expansion
  try {
    const { kind } = await deps.mutex.run(key, signal, () => saveClaim(run, expansion, expanded))
    if (kind !== 'written') return kind === 'gone' ? SETTLED : AGAIN
  } catch (error) {
    signal.throwIfAborted()
    const cause = unsavedClaimError(claim, expanded, error)
    if (isMissing(error)) return isStillCached(run, claim) ? { kind: 'retry', cause } : SETTLED
    return outcomeOfUnsaved(run, expansion, cause)
  }
  if (expanded.nodeStep) {
    run.log.v(4)?.info('Mark PVC as file system resize required')
    recordEvent(run, claim, RESIZE_EVENTS.nodeStepRequired())
  } else {
    run.log.v(4)?.info('Resize PVC finished')
    recordEvent(run, claim, RESIZE_EVENTS.succeeded())
  }
  return outcomeOfSuccess(run, expansion)
}

/**
 * Returns the outcome after an expansion was saved. The claim runs again at once if a different size is due now. If the
 * same size is due, because the volume has shrunk, the claim runs again after a back-off.
 */
function outcomeOfSuccess(run: ResizeRun, expansion: ControllerExpansion): Outcome {
  const { target } = expansion
  const size = nextSize(run, expansion, { finallyFailed: false })
  if (size === undefined) return WORK_COMPLETED
  if (!size.equals(target)) return AGAIN
  return { kind: 'retry', cause: new Error(`the volume was expanded to ${target}, and has less again`) }
}

async function saveCapacity(
  run: ResizeRun,
  { before, volume }: ControllerExpansion,
  { size, nodeStep }: Expanded,
): Promise<void> {
  const { settings } = run.deps
  // The annotation with the old size is written only if the volume lacked it at the start of the expansion.
  const remember = nodeStep && settings.annotateFsResize && volume.preResize === undefined && !hasSize(run, size)
  const preResize = remember ? preResizeText(before) : undefined
  try {
    const done = await patchVolume(run, volume, (newest) => capacityPatch(newest, size, preResize))
    if (done === 'same') return
  } catch (cause) {
    const failedStep = `updating capacity of PV "${volume.key}" to ${size} failed: update capacity of PV ${volume.key} failed`
    throw new Error(`error updating pv "${volume.key}" by resizer: ${failedStep}: ${messageOf(cause)}`, { cause })
  }
  run.log.v(4)?.info('Update capacity of PV succeeded', { PV: volume.key, capacity: size.toString() })
}

/**
 * Reports whether the claim has reached the size during the call. If so, the annotation with the old size is obsolete.
 */
function hasSize({ deps, key }: ResizeRun, size: Quantity): boolean {
  const capacity = Quantity.tryParse(deps.claims.store.get(key)?.capacity ?? '0')
  return capacity !== undefined && capacity.compare(size) >= 0
}

/**
 * Writes the result to the newest known claim, unless another writer has changed the size or the progress of the
 * expansion since the start.
 */
async function saveClaim(
  run: ResizeRun,
  expansion: ControllerExpansion,
  { size, nodeStep }: Expanded,
): Promise<UpdateResult<ResizerClaim, ResizerClaim>> {
  const { deps } = run
  const { allocated, sizeStatus } = expansion.claim
  return await updateLatest({
    tries: CONFLICT_TRIES,
    latest: () => cachedClaimOf(run, expansion.claim),
    build: (claim) => {
      if (isVolumeReplaced(run, expansion.volume)) return undefined
      if (claim.allocated !== allocated || claim.sizeStatus !== sizeStatus) return undefined
      return nodeStep ? nodeStepPatch(claim, deps.clock.now()) : finishedPatch(claim, size)
    },
    send: (patch) => patchClaim(run, patch),
    refresh: () => readClaimIntoCache(run),
  })
}

function unsavedClaimError({ key }: ResizerClaim, { nodeStep }: Expanded, cause: unknown): Error {
  const failedStep = nodeStep ? 'node expansion required' : 'resize finished'
  return new Error(`mark PVC "${key}" as ${failedStep} failed: ${patchFailureText(key, cause)}`, { cause })
}

/** Returns the outcome if the result of an expansion cannot be saved. The next run repeats the same call. */
function outcomeOfUnsaved(run: ResizeRun, { claim }: ControllerExpansion, error: unknown): Outcome {
  run.signal.throwIfAborted()
  const cause = error instanceof Error ? error.cause : undefined
  if (!isConflict(cause) && !isTooManyRequests(cause)) {
    recordEvent(run, claim, RESIZE_EVENTS.failed(messageOf(error)))
  }
  return { kind: 'retry', cause: error }
}
