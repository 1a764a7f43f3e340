import { messageOf } from '@csi-sidecars/base'
import { type CallFailure, callFailure, DONE, type Outcome, SETTLED, updateLatest } from '@csi-sidecars/controller'
import { isMissing } from '@csi-sidecars/kube-client'
import { namespacedRef } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import { MODIFY_STATUS } from '../caches/names.ts'
import { patchVolume } from '../claim/patch-volume.ts'
import { refuseReplaced, replacedOutcome } from '../claim/replaced-volume.ts'
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
import { isSecretDelayed } from '../claim/secret.ts'
import { classPatch, failedPatch, MODIFY_EVENTS, type ModifyError, modifiedPatch } from './patches.ts'
import type { Modification, ModifyRun } from './run.ts'

/** The effect of a failed modification on the status of the claim, on `ModifyMemory` and on the retry. */
export interface ModifyFailure extends CallFailure {
  /** The error to write to the claim. Undefined unless it concerns the volume. */
  readonly statusError: ModifyError | undefined
  /** True if the failure is recorded as an event, not in the claim. */
  readonly isReported: boolean
}

/** Records a successful modification: first in the PersistentVolume, then in the claim. */
export async function recordSuccess(run: ModifyRun, modification: Modification): Promise<Outcome> {
  const { deps, key, signal } = run
  const { claim, target } = modification
  deps.memory.uncertain.delete(key)
  deps.memory.slow.remove(key)
  try {
    await saveClass(run, modification)
    await deps.mutex.run(key, signal, async () => {
      const newest = deps.claims.store.get(key)
      refuseReplaced(run, modification.volume)
      if (newest?.uid === claim.uid) await patchClaim(run, modifiedPatch(newest, target.key)).catch(notCompleted(key))
    })
  } catch (error) {
    signal.throwIfAborted()
    const cause = notSaved(claim, error)
    const replaced = replacedOutcome(run, modification.volume, cause)
    if (replaced !== undefined) return replaced
    return isKnown(run, claim) ? { kind: 'retry', cause } : SETTLED
  }
  run.log.v(4)?.info('Update volumeAttributesClass of PV succeeded', { PV: modification.volume.key })
  const { name } = namespacedRef(claim.key)
  recordEvent(run, claim, MODIFY_EVENTS.succeeded(name, target.key))
  return DONE
}

async function saveClass(run: ModifyRun, { claim, volume, target }: Modification): Promise<void> {
  try {
    await patchVolume(run, volume, (known) => classPatch(known, target.key))
  } catch (cause) {
    const why = `update capacity of PV ${volume.key} failed: ${messageOf(cause)}`
    const what = `update pv.Spec.VolumeAttributesClassName for PVC "${namespacedRef(claim.key).name}" failed`
    throw new Error(`${what}, errored with: ${why}`, { cause })
  }
}

function notCompleted(key: string): (cause: unknown) => never {
  return (cause) => {
    const what = `mark PVC "${namespacedRef(key).name}" as ModifyVolumeCompleted failed`
    throw new Error(`${what}, errored with: ${cannotPatch(key, cause)}`, { cause })
  }
}

/** Returns the error if the result of a modification cannot be saved. The next run repeats the same call. */
function notSaved(claim: ResizerClaim, cause: unknown): Error {
  const { name } = namespacedRef(claim.key)
  const what = `modify volume failed to mark pvc ${name} modify volume completed: ${messageOf(cause)}`
  return new Error(`cannot get error status from modify volume err: ${what}`, { cause })
}

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
  // A claim with an infeasible class is retried rarely, unless the driver asks for a pause. The set `slow` changes
  // before the write, so that a driver that connects during the write can clear it.
  if (failure.statusError.kind === 'infeasible' && failure.pauseMs === 0) deps.memory.slow.add(key)
  else deps.memory.slow.remove(key)
  const unsaved = await saveFailure(run, modification, failure.statusError)
  if (unsaved !== undefined) {
    deps.memory.slow.remove(key)
    return { kind: 'retry', cause: unsaved }
  }
  const { message } = failure
  const text = mayStillRun ? MODIFY_EVENTS.stillModifying(message, target.key) : MODIFY_EVENTS.failed(message)
  recordEvent(run, claim, text)
  if (!mayStillRun && isOtherWanted(run, modification)) {
    deps.memory.slow.remove(key)
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
      latest: () => knownClaim(run, claim),
      build: (latest) =>
        isStill(latest, target.key) ? failedPatch(latest, { target: target.key, error }, deps.clock.now()) : undefined,
      send: (patch) => patchClaim(run, patch, priorityOf(run)),
      refresh: () => readClaim(run),
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
function isStill({ modifying }: ResizerClaim, target: string): boolean {
  return modifying?.status === MODIFY_STATUS.inProgress && modifying.target === target
}

export function cannotRecord(key: string, cause: unknown): Error {
  const { name } = namespacedRef(key)
  return new Error(`mark PVC "${name}" as modify volume failed, errored with: ${cannotPatch(key, cause)}`, { cause })
}

/** Decides the effect of an error. No other code interprets errors of modifications. */
export function modifyFailure(error: unknown, driverLost: boolean): ModifyFailure {
  const failure = callFailure(error, { driverLost })
  const { status } = failure
  if (status === undefined) return { ...failure, statusError: undefined, isReported: !isSecretDelayed(error) }
  // After a disconnect, the retry waits until the driver is back.
  if (failure.mayStillRun && driverLost) return { ...failure, statusError: undefined, isReported: false }
  const statusError = { kind: kindOf(failure), reason: status.codeName, message: status.details }
  return { ...failure, statusError, isReported: true }
}

function kindOf({ infeasible, isFinal }: CallFailure): ModifyError['kind'] {
  if (infeasible.modify) return 'infeasible'
  return isFinal ? 'final' : 'uncertain'
}
