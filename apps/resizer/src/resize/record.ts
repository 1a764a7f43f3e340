import { messageOf } from '@csi-sidecars/base'
import { AGAIN, DONE, type Outcome, SETTLED, type UpdateResult, updateLatest } from '@csi-sidecars/controller'
import type { EventText } from '@csi-sidecars/events'
import { isConflict, isMissing, isTooManyRequests } from '@csi-sidecars/kube-client'
import { Quantity } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import { patchVolume } from '../claim/patch-volume.ts'
import { isVolumeReplaced, replacedOutcome } from '../claim/replaced-volume.ts'
import {
  CONFLICT_TRIES,
  cannotPatch,
  isKnown,
  knownClaim,
  patchClaim,
  priorityOf,
  readClaim,
  recordEvent,
} from '../claim/run.ts'
import { sizeToExpandTo } from './decide.ts'
import { type Expanded, type ExpandFailure, expandFailure } from './expand.ts'
import type { ResizeView } from './observe.ts'
import { capacityPatch, failedPatch, finishedPatch, nodeStepPatch, preResizeText } from './patches.ts'
import { type ResizeRun, resizeFailed } from './run.ts'

/** A started expansion, with the claim and the volume at its start. */
export interface ControllerExpansion {
  /** The claim after the patch that records the start of the expansion. */
  readonly claim: ResizerClaim
  /** The claim before the patch that records the start of the expansion. */
  readonly before: ResizerClaim
  /** The volume as the run observed it, even if the run has removed the annotation with the old size since. */
  readonly volume: ResizerVolume
  readonly target: Quantity
}

/** Records a successful expansion: first in the PersistentVolume, then in the claim. */
export async function recordSuccess(
  run: ResizeRun,
  expansion: ControllerExpansion,
  expanded: Expanded,
): Promise<Outcome> {
  const { deps, key, signal } = run
  deps.memory.finallyFailed.delete(key)
  deps.memory.slow.remove(key)
  try {
    await saveCapacity(run, expansion, expanded)
  } catch (error) {
    return replacedOutcome(run, expansion.volume, error) ?? notSaved(run, expansion, error)
  }
  const { claim } = expansion
  try {
    const { kind } = await deps.mutex.run(key, signal, () => saveClaim(run, expansion, expanded))
    if (kind !== 'written') return kind === 'gone' ? SETTLED : AGAIN
  } catch (error) {
    signal.throwIfAborted()
    const cause = afterCall(claim, expanded, error)
    if (isMissing(error)) return isKnown(run, claim) ? { kind: 'retry', cause } : SETTLED
    return notSaved(run, expansion, cause)
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
  if (size === undefined) return DONE
  if (!size.equals(target)) return AGAIN
  return { kind: 'retry', cause: new Error(`the volume was expanded to ${target}, and has less again`) }
}

/** Returns the size that is due for the same claim now, according to the caches. Undefined if no expansion is due. */
function nextSize(
  { deps, key }: ResizeRun,
  expansion: ControllerExpansion,
  { finallyFailed }: Pick<ResizeView, 'finallyFailed'>,
): Quantity | undefined {
  const { settings, clock } = deps
  const claim = deps.claims.store.get(key)
  if (claim?.uid !== expansion.claim.uid) return undefined
  const known = deps.volumes.store.get(claim.volumeName)
  // The cache lacks the fields of a volume of kind `other`, so the volume from the start of the run is used.
  const volume = known === undefined || known.kind === 'other' ? expansion.volume : known
  return sizeToExpandTo({ claim, volume, finallyFailed, slowForMs: undefined, settings, now: clock.now() })
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
    const done = await patchVolume(run, volume, (known) => capacityPatch(known, size, preResize))
    if (done === 'same') return
  } catch (cause) {
    const what = `updating capacity of PV "${volume.key}" to ${size} failed: update capacity of PV ${volume.key} failed`
    throw new Error(`error updating pv "${volume.key}" by resizer: ${what}: ${messageOf(cause)}`, { cause })
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
    latest: () => knownClaim(run, expansion.claim),
    build: (claim) => {
      if (isVolumeReplaced(run, expansion.volume)) return undefined
      if (claim.allocated !== allocated || claim.sizeStatus !== sizeStatus) return undefined
      return nodeStep ? nodeStepPatch(claim, deps.clock.now()) : finishedPatch(claim, size)
    },
    send: (patch) => patchClaim(run, patch),
    refresh: () => readClaim(run),
  })
}

function afterCall({ key }: ResizerClaim, { nodeStep }: Expanded, cause: unknown): Error {
  const what = nodeStep ? 'node expansion required' : 'resize finished'
  return new Error(`mark PVC "${key}" as ${what} failed: ${cannotPatch(key, cause)}`, { cause })
}

/** Returns the outcome if the result of an expansion cannot be saved. The next run repeats the same call. */
function notSaved(run: ResizeRun, { claim }: ControllerExpansion, error: unknown): Outcome {
  run.signal.throwIfAborted()
  const cause = error instanceof Error ? error.cause : undefined
  if (!isConflict(cause) && !isTooManyRequests(cause)) {
    recordEvent(run, claim, RESIZE_EVENTS.failed(messageOf(error)))
  }
  return { kind: 'retry', cause: error }
}

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
  if (failure.kind !== 'infeasible' || failure.pauseMs > 0) memory.slow.remove(key)
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
    return `mark PVC "${key}" as controller expansion failed, errored with: ${cannotPatch(key, cause)}`
  }
}

/** The texts of the events about expansions. All equal the Go resizer's. */
export const RESIZE_EVENTS = {
  started: (volumeName: string): EventText => ({
    type: 'Normal',
    reason: 'Resizing',
    message: `External resizer is resizing volume ${volumeName}`,
  }),
  nodeStepRequired: (): EventText => ({
    type: 'Normal',
    reason: 'FileSystemResizeRequired',
    message: 'Require file system resize of volume on node',
  }),
  succeeded: (): EventText => ({
    type: 'Normal',
    reason: 'VolumeResizeSuccessful',
    message: 'Resize volume succeeded',
  }),
  inUse: (key: string, driverName: string): EventText =>
    failed(
      `Unable to expand ${key} because CSI driver ${driverName} only supports offline expansion and volume is currently in-use`,
    ),
  failed,
} as const

function failed(message: string): EventText {
  return { type: 'Warning', reason: 'VolumeResizeFailed', message }
}
