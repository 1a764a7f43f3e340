import { type Outcome, updateLatest } from '@csi-sidecars/controller'
import { isMissing } from '@csi-sidecars/kube-client'
import { namespacedRef } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import { MODIFY_STATUS } from '../caches/names.ts'
import { CONFLICT_TRIES, cachedClaimOf, patchClaim, patchFailureText, readClaimIntoCache } from '../claim/api.ts'
import { recordEvent } from '../claim/events.ts'
import { priorityOf } from '../claim/run.ts'
import { MODIFY_EVENTS } from './events.ts'
import { type ModifyFailure, modifyFailure } from './failure.ts'
import { failedPatch, type ModifyError } from './patches.ts'
import type { Modification, ModifyRun } from './run.ts'

/** Records that the driver has not modified the volume, or could not be called. */
export async function recordFailure(run: ModifyRun, modification: Modification, error: unknown): Promise<Outcome> {
  // A shutdown or a lost lease has cancelled the run. The volume has not failed, and the next leader tries again.
  run.signal.throwIfAborted()
  const { deps, key } = run
  const { claim, target } = modification
  const failure = modifyFailure(error, deps.driver.lost)
  const { mayStillRun } = failure
  if (mayStillRun) deps.memory.uncertain.add(key)
  if (failure.statusError === undefined) return withoutMark(run, claim, { failure, cause: error })
  if (!mayStillRun) deps.memory.uncertain.delete(key)
  // A claim with an infeasible class is retried rarely, unless the driver asks for a pause. The set `infeasibleClaims`
  // changes before the write, so that a driver that connects during the write can clear it.
  if (failure.statusError.kind === 'infeasible' && failure.pauseMs === 0) deps.memory.infeasibleClaims.add(key)
  else deps.memory.infeasibleClaims.remove(key)
  const unsaved = await saveFailure(run, modification, failure.statusError)
  if (unsaved !== undefined) {
    deps.memory.infeasibleClaims.remove(key)
    return { kind: 'retry', cause: unsaved }
  }
  const { message } = failure
  const text = mayStillRun ? MODIFY_EVENTS.stillModifying(message, target.key) : MODIFY_EVENTS.failed(message)
  recordEvent(run, claim, text)
  if (!mayStillRun && isOtherWanted(run, modification)) {
    deps.memory.infeasibleClaims.remove(key)
    return { kind: 'superseded', cause: error }
  }
  return { kind: 'retry', cause: error }
}

/** Reports whether the user now requests another class than the failed class. */
function isOtherWanted({ deps, key }: ModifyRun, { claim, target }: Modification): boolean {
  const newest = deps.claims.store.get(key)
  return newest?.uid === claim.uid && newest.wantedClass !== '' && newest.wantedClass !== target.key
}

/** Returns the outcome of a failure that does not concern the volume, and so is not written to the claim. */
function withoutMark(
  run: ModifyRun,
  claim: ResizerClaim,
  { failure, cause }: { readonly failure: ModifyFailure; readonly cause: unknown },
): Outcome {
  const { message, mayStillRun, isReported } = failure
  if (mayStillRun) return { kind: 'retry', cause }
  if (isReported) recordEvent(run, claim, MODIFY_EVENTS.failed(message))
  return { kind: 'retry', cause: new Error(`cannot get error status from modify volume err: ${message}`, { cause }) }
}

/** Writes the driver's error to the claim. If the write fails, returns the error of the write. */
async function saveFailure(
  run: ModifyRun,
  { claim, target }: Modification,
  error: ModifyError,
): Promise<Error | undefined> {
  const { deps, key, signal } = run
  const save = (): Promise<unknown> =>
    updateLatest({
      tries: CONFLICT_TRIES,
      latest: () => cachedClaimOf(run, claim),
      build: (latest) =>
        isStill(latest, target.key) ? failedPatch(latest, { target: target.key, error }, deps.clock.now()) : undefined,
      send: (patch) => patchClaim(run, patch, priorityOf(run)),
      refresh: () => readClaimIntoCache(run),
    })
  try {
    await deps.mutex.run(key, signal, save)
    return undefined
  } catch (cause) {
    signal.throwIfAborted()
    return isMissing(cause) ? undefined : cannotRecord(key, cause)
  }
}

/** Reports whether the claim's status still shows this modification as in progress. */
function isStill({ modifyVolumeStatus }: ResizerClaim, target: string): boolean {
  return modifyVolumeStatus?.status === MODIFY_STATUS.inProgress && modifyVolumeStatus.target === target
}

export function cannotRecord(key: string, cause: unknown): Error {
  const { name } = namespacedRef(key)
  return new Error(`mark PVC "${name}" as modify volume failed, errored with: ${patchFailureText(key, cause)}`, {
    cause,
  })
}
