import type { Cause } from '@csi-sidecars/controller'
import type { Patch, Quantity } from '@csi-sidecars/kube-types'
import { claimRef, type ResizerClaim } from '../caches/claim.ts'
import { SIZE_STATUS } from '../caches/names.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import type { ResizeView } from './observe.ts'
import { dropPreResizePatch, isNodeStepPending, markPatch } from './patches.ts'
import { type ReadSizes, readSizes, type Sizes, whyNoTarget } from './sizes.ts'
import { isOurs } from './source.ts'
import { type ResizeTarget, targetOf } from './target.ts'

export type ResizeStep =
  /** Kubelet is done: the volume no longer needs the annotation with its old size. */
  | { readonly do: 'dropPreResize'; readonly patch: Patch }
  /** The driver called the request infeasible: from now on it is repeated slowly. */
  | { readonly do: 'backOff' }
  /** The last step of an expansion that is due: store that it begins. The driver comes after it. */
  | { readonly do: 'mark'; readonly patch: Patch; readonly target: Quantity; readonly row: ResizeTarget['row'] }
  /** Nothing to do until something changes. */
  | { readonly do: 'noop'; readonly why: string; readonly row?: ResizeTarget['row']; readonly waitsFor?: Cause }
  /** The milliseconds until the next try. A changed request is tried at once. */
  | { readonly do: 'postpone'; readonly ms: number }
  /** Something is wrong that no retry mends: report it to the user. */
  | { readonly do: 'reject'; readonly message: string; readonly waitsFor: Cause }
  | { readonly do: 'fail'; readonly message: string; readonly waitsFor: Cause }

const NO_NEED: ResizeStep = { do: 'noop', why: 'No need to resize PVC' }

/**
 * The steps up to the call of the driver, in the order in which they go over the wire. The first check that applies
 * ends the list: the order of the checks is behavior.
 */
export function decideResize(view: ResizeView): readonly ResizeStep[] {
  const { claim, volume } = view
  if (claim.volumeName === '') return [noop('PV bound to PVC is not created yet')]
  if (volume === undefined) return [view.settings.nodeDeployment ? volumeElsewhere(claim) : missingVolume(claim)]
  if (hasItsSize(claim, volume)) return [NO_NEED]
  const read = readSizes(claim, volume)
  return [...cleanUp(view, volume, read), ...decideExpansion(view, volume, read)]
}

function decideExpansion(view: ResizeView, volume: ResizerVolume, read: ReadSizes): readonly ResizeStep[] {
  const { claim, slowForMs, settings } = view
  if (claim.phase !== undefined && claim.phase !== 'Bound') return [NO_NEED]
  if (read.ok && asksForNoMore(read.sizes)) return [NO_NEED]
  // Only errors in claims of this driver are reported: other resizers report their own.
  if (!isOurs(claim, volume, settings.driverName)) return [noop("Resizer doesn't support PV")]
  if (!read.ok) return [reject(volume, read.message)]
  const unbound = whyNotBound(claim, volume)
  if (unbound !== undefined) return [reject(volume, unbound)]
  const { row, size } = target(view, read.sizes)
  if (size === undefined) return [{ ...noop('Waiting for the node to expand the volume'), row }]
  const notASize = whyNoTarget(size)
  if (notASize !== undefined) return [reject(volume, notASize)]
  const newSize = read.sizes.allocated === undefined || !read.sizes.allocated.equals(size)
  // A size that the driver has not seen is tried at once.
  if (!newSize && slowForMs !== undefined) return [...backOff(claim), { do: 'postpone', ms: slowForMs }]
  const patch = markPatch(claim, { target: size, newSize }, view.now)
  return [...backOff(claim), { do: 'mark', patch, target: size, row }]
}

/** Equal texts are equal sizes. It saves reading them in nearly all claims at nearly all times. */
function hasItsSize(claim: ResizerClaim, volume: ResizerVolume): boolean {
  return claim.request === claim.capacity && volume.preResize === undefined
}

/** Reports whether a run over the claim would do nothing, as far as the caches show. */
export function isSizeAtRest(claim: ResizerClaim, volume: ResizerVolume | undefined, driverName: string): boolean {
  if (volume === undefined || !hasItsSize(claim, volume)) return false
  // The cache has too little of a migrated volume that looks like another driver's.
  return volume.kind !== 'other' || !isOurs(claim, volume, driverName)
}

/** The size that the claim is to be expanded to now; undefined when it is not. */
export function dueSize(view: ResizeView): Quantity | undefined {
  const last = decideResize(view).at(-1)
  return last?.do === 'mark' ? last.target : undefined
}

/** Ignores driver, binding and phase, so that the annotation also leaves volumes of other drivers. */
function cleanUp({ settings }: ResizeView, volume: ResizerVolume, read: ReadSizes): ResizeStep[] {
  if (!read.ok || !settings.annotateFsResize || volume.preResize === undefined) return []
  if (read.sizes.capacity.compare(read.sizes.volume) < 0) return []
  return [{ do: 'dropPreResize', patch: dropPreResizePatch(volume) }]
}

function asksForNoMore({ request, capacity }: Sizes): boolean {
  return request.compare(capacity) <= 0
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
  return sizeStatus === SIZE_STATUS.controllerInfeasible ? [{ do: 'backOff' }] : []
}

/** The volume of a claim may be bound to another claim. Undefined if it is bound to this claim. */
function whyNotBound(claim: ResizerClaim, volume: ResizerVolume): string | undefined {
  const { namespace } = claimRef(claim)
  if (claim.phase === undefined) return `the claim has no status`
  if (volume.claimNamespace === namespace && volume.claimUid === claim.uid) return undefined
  if (volume.claimNamespace === undefined) return `PersistentVolume "${volume.key}" is not bound to a claim`
  const other = `${volume.claimNamespace}/${volume.claimName ?? ''}`
  if (other !== claim.key) return `PersistentVolume "${volume.key}" is bound to another claim, "${other}"`
  return `PersistentVolume "${volume.key}" is bound to another claim of this name, with uid ${volume.claimUid ?? '""'}`
}

function missingVolume({ key, volumeName }: ResizerClaim): ResizeStep {
  const message = `PV "${volumeName}" bound to pvc "${key}" not found`
  return { do: 'fail', message, waitsFor: { on: 'volume', name: volumeName } }
}

/** It may come to this node later. */
function volumeElsewhere({ volumeName }: ResizerClaim): ResizeStep {
  return { ...noop('The PV is not of this node'), waitsFor: { on: 'volume', name: volumeName } }
}

function reject(volume: ResizerVolume, message: string): ResizeStep {
  return { do: 'reject', message, waitsFor: { on: 'volume', name: volume.key } }
}

function noop(why: string): ResizeStep & { readonly do: 'noop' } {
  return { do: 'noop', why }
}
