import { type Patch, type PersistentVolume, Quantity, volumePatch } from '@csi-sidecars/kube-types'
import type { Claim } from '../caches/claim.ts'
import { PRE_RESIZE_ANNOTATION, SIZE_STATUS } from '../caches/names.ts'
import type { Volume } from '../caches/volume.ts'
import { claimPatch, textMap } from '../claim/patch.ts'
import { failed, finished, nodeStepPending, resizing } from './conditions.ts'

/** Stores that an expansion begins, before the call to the driver. The status stays if the size was tried before. */
export function markPatch(
  claim: Claim,
  { target, newSize }: { readonly target: Quantity; readonly newSize: boolean },
  now: number,
): Patch {
  const change = {
    allocated: target.toString(),
    conditions: resizing(claim, now, { newSize }),
    noNodeExpansion: undefined,
  }
  const status = newSize ? { sizeStatus: SIZE_STATUS.controllerInProgress } : {}
  return claimPatch(claim, { ...change, ...status }, { guarded: true })
}

/**
 * The driver has refused. Not guarded by a version: if this were lost, the target would stick to the size that failed,
 * and the user could not take it back.
 */
export function failedPatch(claim: Claim, error: { message: string; infeasible: boolean }, now: number): Patch {
  const conditions = failed(claim, now, `failed to expand pvc with ${error.message}`)
  const status = error.infeasible ? { sizeStatus: SIZE_STATUS.controllerInfeasible } : {}
  return claimPatch(claim, { conditions, ...status }, { guarded: false })
}

/** The driver has finished, the kubelet has not. Earlier conditions stay. */
export function nodeStepPatch(claim: Claim, now: number): Patch {
  const conditions = nodeStepPending(claim, now)
  const change = { sizeStatus: SIZE_STATUS.nodePending, conditions, noNodeExpansion: undefined }
  return claimPatch(claim, change, { guarded: true })
}

/** The expansion is done. The requested size stays recorded. */
export function finishedPatch(claim: Claim, size: Quantity): Patch {
  const change = {
    capacity: size.toString(),
    sizeStatus: undefined,
    conditions: finished(claim),
    noNodeExpansion: claim.noNodeExpansion ?? 'true',
  }
  return claimPatch(claim, change, { guarded: true })
}

/** The volume's new size, with the claim's old one where kubelet has a step to do. Undefined when it says so already. */
export function capacityPatch(volume: Volume, size: Quantity, preResize: string | undefined): Patch | undefined {
  const capacity = size.toString()
  if (volume.capacity === capacity && preResize === undefined) return undefined
  return volumePatch(partsOf(volume), partsOf({ ...volume, capacity, preResize: preResize ?? volume.preResize }), {
    uid: volume.uid,
  })
}

export function dropPreResizePatch(volume: Volume): Patch {
  return volumePatch(partsOf(volume), partsOf({ ...volume, preResize: undefined }), { uid: volume.uid })
}

function partsOf({ capacity, preResize }: Volume): Pick<PersistentVolume, 'metadata' | 'spec'> {
  return {
    metadata: { annotations: textMap(PRE_RESIZE_ANNOTATION, preResize) },
    spec: { capacity: textMap('storage', capacity) },
  }
}

/** The claim's capacity as the annotation has it. */
export function preResizeText(claim: Claim): string {
  return Quantity.parse(claim.capacity ?? '0').toString()
}
