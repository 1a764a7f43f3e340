import type { WakeEvent } from '@csi-sidecars/controller'
import { namespacedRef, type Patch, type Quantity } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import { SIZE_STATUS } from '../caches/names.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import type { ResizerWakeKind } from '../claim/wake-events.ts'
import type { ResizeView } from './observe.ts'
import { dropPreResizePatch, isNodeStepPending, startPatch } from './patches.ts'
import { type ReadSizes, readSizes, type Sizes, whyNoTarget } from './sizes.ts'
import { isOurs } from './source.ts'
import { type ResizeTarget, targetOf } from './target.ts'

export type ResizeStep =
  /** Removes the annotation with the old size from the volume, because the kubelet is done. */
  | { readonly kind: 'dropPreResize'; readonly patch: Patch }
  /** Delays the next tries of the claim, because the driver has refused its request as infeasible. */
  | { readonly kind: 'backOff' }
  /** Records in the claim that an expansion begins, before the call to the driver. */
  | { readonly kind: 'start'; readonly patch: Patch; readonly target: Quantity; readonly row: ResizeTarget['row'] }
  /** Ends the run, because there is nothing to do. */
  | {
      readonly kind: 'noop'
      readonly why: string
      readonly row?: ResizeTarget['row']
      readonly waitsFor?: WakeEvent<ResizerWakeKind>
    }
  /** Delays the next try by `ms`. If the request changes, the next try begins at once. */
  | { readonly kind: 'postpone'; readonly ms: number }
  /** Reports an error that no retry can solve, because the cause is in the API objects. */
  | { readonly kind: 'reject'; readonly message: string; readonly waitsFor: WakeEvent<ResizerWakeKind> }
  | { readonly kind: 'fail'; readonly message: string; readonly waitsFor: WakeEvent<ResizerWakeKind> }

const NO_NEED: ResizeStep = { kind: 'noop', why: 'No need to resize PVC' }

/**
 * Returns the steps before the call to the driver, in order. The first check that applies ends the list, so the order
 * of the checks decides the result.
 */
export function decideResize(view: ResizeView): readonly ResizeStep[] {
  const { claim, volume } = view
  if (claim.volumeName === '') return [noop('PV bound to PVC is not created yet')]
  if (volume === undefined) return [missingVolume(view)]
  if (hasItsSize(claim, volume)) return [NO_NEED]
  const read = readSizes(claim, volume)
  return [...cleanUp(view, volume, read), ...decideExpansion(view, volume, read)]
}

function decideExpansion(view: ResizeView, volume: ResizerVolume, read: ReadSizes): readonly ResizeStep[] {
  const { claim, slowForMs, settings } = view
  if (claim.phase !== undefined && claim.phase !== 'Bound') return [NO_NEED]
  if (read.ok && asksForNoMore(read.sizes)) return [NO_NEED]
  // The resizers of other drivers report the errors in their claims.
  if (!isOurs(claim, volume, settings.driverName)) return [noop("Resizer doesn't support PV")]
  if (!read.ok) return [reject(volume, read.message)]
  const unbound = whyNotBound(claim, volume)
  if (unbound !== undefined) return [reject(volume, unbound)]
  const { row, size } = target(view, read.sizes)
  if (size === undefined) return [{ ...noop('Waiting for the node to expand the volume'), row }]
  const notASize = whyNoTarget(size)
  if (notASize !== undefined) return [reject(volume, notASize)]
  const newSize = read.sizes.allocated === undefined || !read.sizes.allocated.equals(size)
  // A size that the driver was not asked for yet is tried at once.
  if (!newSize && slowForMs !== undefined) return [...backOff(claim), { kind: 'postpone', ms: slowForMs }]
  const patch = startPatch(claim, { target: size, newSize }, view.now)
  return [...backOff(claim), { kind: 'start', patch, target: size, row }]
}

/** Reports whether the claim requests no more than its capacity. */
function asksForNoMore({ request, capacity }: Sizes): boolean {
  return request.compare(capacity) <= 0
}

/** Reports whether request and capacity are equal. It compares the texts, which is enough for nearly all claims. */
function hasItsSize(claim: ResizerClaim, volume: ResizerVolume): boolean {
  return claim.request === claim.capacity && volume.preResize === undefined
}

/** Reports whether the caches show that a run over the claim would do nothing. */
export function isSizeAtRest(claim: ResizerClaim, volume: ResizerVolume | undefined, driverName: string): boolean {
  if (volume === undefined || !hasItsSize(claim, volume)) return false
  // If the claim of a volume of kind `other` names this driver, the cached fields are not enough for a decision.
  return volume.kind !== 'other' || !isOurs(claim, volume, driverName)
}

/** Returns the size that the claim must be expanded to now. Undefined if no expansion is due. */
export function sizeToExpandTo(view: ResizeView): Quantity | undefined {
  const last = decideResize(view).at(-1)
  return last?.kind === 'start' ? last.target : undefined
}

/** Returns the step that removes the annotation with the old size, even from volumes of other drivers. */
function cleanUp({ settings }: ResizeView, volume: ResizerVolume, read: ReadSizes): ResizeStep[] {
  if (!read.ok || !settings.annotateFsResize || volume.preResize === undefined) return []
  if (read.sizes.capacity.compare(read.sizes.volume) < 0) return []
  return [{ kind: 'dropPreResize', patch: dropPreResizePatch(volume) }]
}

function target({ claim, finallyFailed, settings }: ResizeView, sizes: Sizes): ResizeTarget {
  return targetOf(sizes, {
    status: claim.sizeStatus,
    finallyFailed,
    driverExpands: settings.driverExpands,
    nodeStepPending: isNodeStepPending(claim),
  })
}

function backOff({ sizeStatus }: ResizerClaim): ResizeStep[] {
  return sizeStatus === SIZE_STATUS.controllerInfeasible ? [{ kind: 'backOff' }] : []
}

/** Returns the reason why the volume is not bound to this claim. Undefined if it is. */
function whyNotBound(claim: ResizerClaim, volume: ResizerVolume): string | undefined {
  const { namespace } = namespacedRef(claim.key)
  if (claim.phase === undefined) return `the claim has no status`
  if (volume.claimNamespace === namespace && volume.claimUid === claim.uid) return undefined
  if (volume.claimNamespace === undefined) return `PersistentVolume "${volume.key}" is not bound to a claim`
  const other = `${volume.claimNamespace}/${volume.claimName ?? ''}`
  if (other !== claim.key) return `PersistentVolume "${volume.key}" is bound to another claim, "${other}"`
  return `PersistentVolume "${volume.key}" is bound to another claim of this name, with uid ${volume.claimUid ?? '""'}`
}

/** Returns the step for a missing volume. With `--node-deployment`, it is on another node and may move to this node. */
function missingVolume({ claim: { key, volumeName }, settings }: ResizeView): ResizeStep {
  const waitsFor = { kind: 'volume', name: volumeName } as const
  if (settings.nodeDeployment) return { ...noop('The PV is not of this node'), waitsFor }
  return { kind: 'fail', message: `PV "${volumeName}" bound to pvc "${key}" not found`, waitsFor }
}

function reject(volume: ResizerVolume, message: string): ResizeStep {
  return { kind: 'reject', message, waitsFor: { kind: 'volume', name: volume.key } }
}

function noop(why: string): ResizeStep & { readonly kind: 'noop' } {
  return { kind: 'noop', why }
}
