import { type Patch, volumePatch } from '@csi-sidecars/kube-types'
import type { Claim } from '../caches/claim.ts'
import { MODIFY_STATUS } from '../caches/names.ts'
import type { Volume } from '../caches/volume.ts'
import { claimPatch } from '../claim/patch.ts'
import { type DriverError, modified, modifyFailed, modifying, notModifying } from './conditions.ts'

/** Stores that a modification begins, before the call to the driver. */
export function startPatch(claim: Claim, target: string, now: number): Patch {
  const conditions = modifying(claim, now, `Modifying volume to ${JSON.stringify(target)} is in progress.`)
  return claimPatch(claim, { modifying: { status: MODIFY_STATUS.inProgress, target }, conditions }, { guarded: true })
}

/** Returns the patch for a missing class. Undefined if the claim has that status. A begun modification stays recorded. */
export function pendingPatch(claim: Claim): Patch | undefined {
  if (claim.modifying?.status === MODIFY_STATUS.pending) return undefined
  const target = claim.modifying?.target ?? ''
  return claimPatch(claim, { modifying: { status: MODIFY_STATUS.pending, target } }, { guarded: true })
}

/**
 * The user has withdrawn the request. Only the condition is removed: the result of the last modification stays visible.
 */
export function cancelPatch(claim: Claim): Patch {
  return claimPatch(claim, { conditions: notModifying(claim) }, { guarded: false })
}

export interface ModifyError extends DriverError {
  readonly kind: 'infeasible' | 'final' | 'uncertain'
}

export function failedPatch(
  claim: Claim,
  { target, error }: { readonly target: string; readonly error: ModifyError },
  now: number,
): Patch {
  const { kind } = error
  const outcome = kind === 'uncertain' ? 'is still in progress.' : 'failed. Waiting for retry.'
  const state = `Modifying volume to ${JSON.stringify(target)} ${outcome}`
  const conditions = modifyFailed(claim, now, { state, error })
  const status = kind === 'infeasible' ? MODIFY_STATUS.infeasible : MODIFY_STATUS.inProgress
  return claimPatch(claim, { modifying: { status, target }, conditions }, { guarded: true })
}

/** The volume has the class. Not guarded: the volume says so already, and the claim must not stay behind. */
export function modifiedPatch(claim: Claim, target: string): Patch {
  const change = { currentClass: target, modifying: undefined, conditions: modified(claim) }
  return claimPatch(claim, change, { guarded: false })
}

/** Undefined when the volume says so already. */
export function classPatch(volume: Volume, target: string): Patch | undefined {
  if (volume.className === target) return undefined
  return volumePatch(
    { spec: { volumeAttributesClassName: volume.className } },
    { spec: { volumeAttributesClassName: target } },
    { uid: volume.uid },
  )
}
