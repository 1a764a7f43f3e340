import { type Patch, type PersistentVolume, Quantity, rfc3339, volumePatch } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import { CONDITION, PRE_RESIZE_ANNOTATION, SIZE_STATUS } from '../caches/names.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import { type Condition, claimPatch, textMap, withCondition, withoutConditions } from '../claim/patch.ts'

/** Returns the patch that records the start of an expansion. The status stays if the size was tried before. */
export function startPatch(
  claim: ResizerClaim,
  { target, newSize }: { readonly target: Quantity; readonly newSize: boolean },
  now: number,
): Patch {
  const change = {
    allocated: target.toString(),
    conditions: conditionsWhileResizing(claim, now, { newSize }),
    noNodeExpansion: undefined,
  }
  const status = newSize ? { sizeStatus: SIZE_STATUS.controllerInProgress } : {}
  return claimPatch(claim, { ...change, ...status }, { requireVersion: true })
}

/**
 * Returns the patch after a refusal of the driver. It applies even if another writer has changed the claim. Otherwise
 * the refused size would stay the target, and the user could not request a smaller size.
 */
export function failedPatch(claim: ResizerClaim, error: { message: string; infeasible: boolean }, now: number): Patch {
  const conditions = conditionsAfterFailure(claim, now, `failed to expand pvc with ${error.message}`)
  const status = error.infeasible ? { sizeStatus: SIZE_STATUS.controllerInfeasible } : {}
  return claimPatch(claim, { conditions, ...status }, { requireVersion: false })
}

/** Returns the patch if the kubelet must still expand the file system. Earlier conditions stay. */
export function nodeStepPatch(claim: ResizerClaim, now: number): Patch {
  const conditions = conditionsWhileNodeStepPending(claim, now)
  const change = { sizeStatus: SIZE_STATUS.nodePending, conditions, noNodeExpansion: undefined }
  return claimPatch(claim, change, { requireVersion: true })
}

/** Returns the patch after a finished expansion. `status.allocatedResources` keeps the size. */
export function finishedPatch(claim: ResizerClaim, size: Quantity): Patch {
  const change = {
    capacity: size.toString(),
    sizeStatus: undefined,
    conditions: conditionsAfterExpansion(claim),
    noNodeExpansion: claim.noNodeExpansion ?? 'true',
  }
  return claimPatch(claim, change, { requireVersion: true })
}

/** Returns the patch with the new size of the volume and the annotation `preResize`. Undefined if nothing changes. */
export function capacityPatch(volume: ResizerVolume, size: Quantity, preResize: string | undefined): Patch | undefined {
  const capacity = size.toString()
  if (volume.capacity === capacity && preResize === undefined) return undefined
  return volumePatch(
    patchedFieldsOf(volume),
    patchedFieldsOf({ ...volume, capacity, preResize: preResize ?? volume.preResize }),
    {
      uid: volume.uid,
    },
  )
}

export function dropPreResizePatch(volume: ResizerVolume): Patch {
  return volumePatch(patchedFieldsOf(volume), patchedFieldsOf({ ...volume, preResize: undefined }), { uid: volume.uid })
}

function patchedFieldsOf({ capacity, preResize }: ResizerVolume): Pick<PersistentVolume, 'metadata' | 'spec'> {
  return {
    metadata: { annotations: textMap(PRE_RESIZE_ANNOTATION, preResize) },
    spec: { capacity: textMap('storage', capacity) },
  }
}

/** Returns the claim's capacity in the notation of the annotation for the old size. */
export function preResizeText(claim: ResizerClaim): string {
  return Quantity.parse(claim.capacity ?? '0').toString()
}

const { resizing: RESIZING, nodeStepPending: NODE_STEP_PENDING, controllerError: CONTROLLER_ERROR } = CONDITION

const CONDITIONS_OF_EARLIER_EXPANSION: ReadonlySet<string> = new Set([
  NODE_STEP_PENDING,
  CONTROLLER_ERROR,
  CONDITION.nodeError,
])
const CONDITIONS_OF_EXPANSION: ReadonlySet<string> = new Set([RESIZING, ...CONDITIONS_OF_EARLIER_EXPANSION])

type Conditions = readonly Condition[]

/** Returns the conditions at the start of an expansion. For a new size, the conditions of earlier tries are removed. */
export function conditionsWhileResizing(
  { conditions }: ResizerClaim,
  now: number,
  { newSize }: { newSize: boolean },
): Conditions {
  const kept = newSize ? withoutConditions(conditions, CONDITIONS_OF_EARLIER_EXPANSION) : conditions
  return withCondition(kept, condition(RESIZING, now))
}

export function conditionsAfterFailure({ conditions }: ResizerClaim, now: number, message: string): Conditions {
  return withCondition(conditions, condition(CONTROLLER_ERROR, now, message))
}

export function conditionsWhileNodeStepPending({ conditions }: ResizerClaim, now: number): Conditions {
  const message = 'Waiting for user to (re-)start a pod to finish file system resize of volume on node.'
  return withCondition(conditions, condition(NODE_STEP_PENDING, now, message))
}

export function conditionsAfterExpansion({ conditions }: ResizerClaim): Conditions {
  return withoutConditions(conditions, CONDITIONS_OF_EXPANSION)
}

export function isNodeStepPending({ conditions }: ResizerClaim): boolean {
  return conditions?.some(({ type, status }) => type === NODE_STEP_PENDING && status === 'True') === true
}

function condition(type: string, now: number, message?: string): Condition {
  const base: Condition = { type, status: 'True', lastProbeTime: null, lastTransitionTime: rfc3339(now) }
  return message === undefined ? base : { ...base, message }
}
