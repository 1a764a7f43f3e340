import { type Patch, rfc3339, volumePatch } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import { CONDITION, MODIFY_STATUS } from '../caches/names.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import { type Condition, claimPatch, withCondition, withoutConditions } from '../claim/patch.ts'

/** A failed ControllerModifyVolume, by what it means for the next try. */
export interface ModifyError extends DriverError {
  readonly kind: 'infeasible' | 'final' | 'uncertain'
}

/** The driver's error: the name of its code, and its message. */
export interface DriverError {
  readonly reason: string
  readonly message: string
}

/** Returns the patch that records the start of a modification, before the call to the driver. */
export function startPatch(claim: ResizerClaim, target: string, now: number): Patch {
  const conditions = conditionsWhileModifying(
    claim,
    now,
    `Modifying volume to ${JSON.stringify(target)} is in progress.`,
  )
  return claimPatch(
    claim,
    { modifyVolumeStatus: { status: MODIFY_STATUS.inProgress, target }, conditions },
    { requireVersion: true },
  )
}

/** Returns the patch to status `Pending` for a missing class. Undefined if the claim already has that status. */
export function pendingPatch(claim: ResizerClaim): Patch | undefined {
  if (claim.modifyVolumeStatus?.status === MODIFY_STATUS.pending) return undefined
  const target = claim.modifyVolumeStatus?.target ?? ''
  return claimPatch(claim, { modifyVolumeStatus: { status: MODIFY_STATUS.pending, target } }, { requireVersion: true })
}

/**
 * Returns the patch after a user has withdrawn the request. It removes the condition, but keeps the result of the last
 * modification.
 */
export function cancelPatch(claim: ResizerClaim): Patch {
  return claimPatch(claim, { conditions: conditionsWithoutModifying(claim) }, { requireVersion: false })
}

export function failedPatch(
  claim: ResizerClaim,
  { target, error }: { readonly target: string; readonly error: ModifyError },
  now: number,
): Patch {
  const { kind } = error
  const outcome = kind === 'uncertain' ? 'is still in progress.' : 'failed. Waiting for retry.'
  const state = `Modifying volume to ${JSON.stringify(target)} ${outcome}`
  const conditions = conditionsAfterFailure(claim, now, { state, error })
  const status = kind === 'infeasible' ? MODIFY_STATUS.infeasible : MODIFY_STATUS.inProgress
  return claimPatch(claim, { modifyVolumeStatus: { status, target }, conditions }, { requireVersion: true })
}

/** Returns the patch after a successful modification. It applies even if another writer has changed the claim. */
export function modifiedPatch(claim: ResizerClaim, target: string): Patch {
  const change = { currentClass: target, modifyVolumeStatus: undefined, conditions: conditionsAfterModification(claim) }
  return claimPatch(claim, change, { requireVersion: false })
}

/** Returns the patch that writes the class to the volume. Undefined if the volume already shows it. */
export function classPatch(volume: ResizerVolume, target: string): Patch | undefined {
  if (volume.className === target) return undefined
  return volumePatch(
    { spec: { volumeAttributesClassName: volume.className } },
    { spec: { volumeAttributesClassName: target } },
    { uid: volume.uid },
  )
}

const { modifyingVolume: MODIFYING_VOLUME, modifyError: MODIFY_ERROR } = CONDITION

type Conditions = readonly Condition[]

export function isModifying({ conditions }: ResizerClaim): boolean {
  return conditions?.some(({ type }) => type === MODIFYING_VOLUME) === true
}

export function conditionsWhileModifying({ conditions }: ResizerClaim, now: number, message: string): Conditions {
  return setCondition(conditions, { type: MODIFYING_VOLUME, message }, now)
}

/** Returns the conditions after a failure. An empty message is omitted, because the API does not store it. */
export function conditionsAfterFailure(
  claim: ResizerClaim,
  now: number,
  { state, error }: { readonly state: string; readonly error: DriverError },
): Conditions {
  const { reason, message } = error
  const details = message === '' ? { reason } : { reason, message }
  return setCondition(conditionsWhileModifying(claim, now, state), { type: MODIFY_ERROR, ...details }, now)
}

export function conditionsWithoutModifying({ conditions }: ResizerClaim): Conditions {
  return withoutConditions(conditions, new Set([MODIFYING_VOLUME]))
}

export function conditionsAfterModification({ conditions }: ResizerClaim): Conditions {
  return withoutConditions(conditions, new Set([MODIFYING_VOLUME, MODIFY_ERROR]))
}

interface ConditionInput {
  readonly type: string
  readonly reason?: string
  readonly message?: string
}

/** Sets a condition and its probe time. The transition time changes only with the status or the reason. */
function setCondition(conditions: Conditions | undefined, input: ConditionInput, now: number): Conditions {
  const before = conditions?.find(({ type }) => type === input.type)
  const status = 'True'
  const lastProbeTime = rfc3339(now)
  const same = before?.status === status && (before.reason ?? '') === (input.reason ?? '')
  const lastTransitionTime = same ? before.lastTransitionTime : lastProbeTime
  return withCondition(conditions, { ...input, status, lastProbeTime, lastTransitionTime })
}
