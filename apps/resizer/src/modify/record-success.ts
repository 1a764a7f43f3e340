import { messageOf } from '@csi-sidecars/base'
import { type Outcome, SETTLED, WORK_COMPLETED } from '@csi-sidecars/controller'
import { namespacedRef } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import { isStillCached, patchClaim, patchFailureText } from '../claim/api.ts'
import { recordEvent } from '../claim/events.ts'
import { patchVolume } from '../claim/patch-volume.ts'
import { assertNotReplaced, replacedOutcome } from '../claim/replaced-volume.ts'
import { MODIFY_EVENTS } from './events.ts'
import { classPatch, modifiedPatch } from './patches.ts'
import type { Modification, ModifyRun } from './run.ts'

/** Records a successful modification: first in the PersistentVolume, then in the claim. */
export async function recordSuccess(run: ModifyRun, modification: Modification): Promise<Outcome> {
  const { deps, key, signal } = run
  const { claim, target } = modification
  deps.memory.uncertain.delete(key)
  deps.memory.infeasibleClaims.remove(key)
  try {
    await saveClass(run, modification)
    await deps.mutex.run(key, signal, async () => {
      const newest = deps.claims.store.get(key)
      assertNotReplaced(run, modification.volume)
      if (newest?.uid === claim.uid) await patchClaim(run, modifiedPatch(newest, target.key)).catch(notCompleted(key))
    })
  } catch (error) {
    signal.throwIfAborted()
    const cause = notSaved(claim, error)
    const replaced = replacedOutcome(run, modification.volume, cause)
    if (replaced !== undefined) return replaced
    return isStillCached(run, claim) ? { kind: 'retry', cause } : SETTLED
  }
  run.log.v(4)?.info('Update volumeAttributesClass of PV succeeded', { PV: modification.volume.key })
  const { name } = namespacedRef(claim.key)
  recordEvent(run, claim, MODIFY_EVENTS.succeeded(name, target.key))
  return WORK_COMPLETED
}

async function saveClass(run: ModifyRun, { claim, volume, target }: Modification): Promise<void> {
  try {
    await patchVolume(run, volume, (newest) => classPatch(newest, target.key))
  } catch (cause) {
    const why = `update capacity of PV ${volume.key} failed: ${messageOf(cause)}`
    const failedStep = `update pv.Spec.VolumeAttributesClassName for PVC "${namespacedRef(claim.key).name}" failed`
    throw new Error(`${failedStep}, errored with: ${why}`, { cause })
  }
}

function notCompleted(key: string): (cause: unknown) => never {
  return (cause) => {
    const failedStep = `mark PVC "${namespacedRef(key).name}" as ModifyVolumeCompleted failed`
    throw new Error(`${failedStep}, errored with: ${patchFailureText(key, cause)}`, { cause })
  }
}

/** Returns the error if the result of a modification cannot be saved. The next run repeats the same call. */
function notSaved(claim: ResizerClaim, cause: unknown): Error {
  const { name } = namespacedRef(claim.key)
  const failedStep = `modify volume failed to mark pvc ${name} modify volume completed: ${messageOf(cause)}`
  return new Error(`cannot get error status from modify volume err: ${failedStep}`, { cause })
}
