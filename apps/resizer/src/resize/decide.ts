import {
  checked,
  endPlan,
  next,
  type PlanCheck,
  type PlanCheckResult,
  planOf,
  type WakeEvent,
} from '@csi-sidecars/controller'
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
  | { readonly kind: 'start'; readonly patch: Patch; readonly target: Quantity; readonly rule: ResizeTarget['rule'] }
  /** Ends the run, because there is nothing to do. */
  | {
      readonly kind: 'noop'
      readonly why: string
      readonly rule?: ResizeTarget['rule']
      readonly waitsFor?: WakeEvent<ResizerWakeKind>
    }
  /** Delays the next try by `ms`. If the request changes, the next try begins at once. */
  | { readonly kind: 'postpone'; readonly ms: number }
  /** Reports an error that no retry can solve, because the cause is in the API objects. */
  | { readonly kind: 'reject'; readonly message: string; readonly waitsFor: WakeEvent<ResizerWakeKind> }
  | { readonly kind: 'fail'; readonly message: string; readonly waitsFor: WakeEvent<ResizerWakeKind> }

/** The view, and the sizes in the claim and in its volume. */
interface ResizeFacts {
  readonly view: ResizeView
  readonly volume: ResizerVolume
  readonly read: ReadSizes
}

/** An expansion with its sizes, which are readable. */
interface ExpansionFacts {
  readonly view: ResizeView
  readonly volume: ResizerVolume
  readonly target: ResizeTarget
  /** True if the driver was not asked for the size yet. */
  readonly isNewSize: boolean
}

type Result = PlanCheckResult<ResizeStep>

/** The checks of a claim before its sizes are compared. */
const CLAIM_CHECKS: readonly PlanCheck<ResizeView, ResizeStep>[] = [
  claimIsUnbound, // Does nothing for a claim without a PersistentVolume.
  volumeIsMissing, // Waits for the PersistentVolume.
  hasRequestedSize, // Does nothing for a claim with its requested size.
  sizesDiffer, // Makes the checks of the sizes.
]

/** The checks of the sizes. The resizers of other drivers report the errors in their claims. */
const SIZE_CHECKS: readonly PlanCheck<ResizeFacts, ResizeStep>[] = [
  oldSizeIsLeft, // Removes the annotation with the old size, even from volumes of other drivers.
  claimIsNotReady, // Does nothing for a claim whose phase is not Bound.
  requestIsNotLarger, // Does nothing for a claim that requests no more than its capacity.
  volumeIsForeign, // Leaves the volume of another driver to its resizer.
  sizesAreInvalid, // Reports a size that cannot be read.
  volumeIsNotBound, // Reports a volume that is bound to another claim.
  targetIsDue, // Makes the checks of the expansion.
]

/** The checks of an expansion, by the rule that has chosen its size. */
const EXPANSION_CHECKS: readonly PlanCheck<ExpansionFacts, ResizeStep>[] = [
  nodeMustExpand, // Waits for the node, because the driver is done.
  targetIsImpossible, // Reports a size that no driver can be asked for.
  wasRefused, // Delays the next tries, because the driver has refused the last size as infeasible.
  isDelayed, // Waits. A size that the driver was not asked for yet is tried at once.
  mustBeExpanded, // Records the start. The call to the driver follows.
]

/** Returns the steps before the call to the driver, in their order. */
export function decideResize(view: ResizeView): readonly ResizeStep[] {
  return planOf(CLAIM_CHECKS, view)
}

/** Reports whether the caches show that a run over the claim would do nothing. */
export function isSizeAtRest(claim: ResizerClaim, volume: ResizerVolume | undefined, driverName: string): boolean {
  if (volume === undefined || !hasItsSize(claim, volume)) return false
  // If the claim of a volume of kind `other` names this driver, the cached fields are not enough for a decision.
  return volume.kind !== 'other' || !isOurs(claim, volume, driverName)
}

/** Returns the size that the claim must be expanded to now. Undefined if no expansion is due. */
export function sizeToExpandTo(view: ResizeView): Quantity | undefined {
  const final = decideResize(view).at(-1)
  return final?.kind === 'start' ? final.target : undefined
}

function claimIsUnbound({ claim }: ResizeView): Result {
  return claim.volumeName === '' ? noop('PV bound to PVC is not created yet') : undefined
}

/** With `--node-deployment`, a volume that is not cached is on another node, and may move to this node. */
function volumeIsMissing({ claim: { key, volumeName }, volume, settings }: ResizeView): Result {
  if (volume !== undefined) return undefined
  const waitsFor = { kind: 'volume', name: volumeName } as const
  if (settings.nodeDeployment) return endPlan({ kind: 'noop', why: 'The PV is not of this node', waitsFor })
  return endPlan({ kind: 'fail', message: `PV "${volumeName}" bound to pvc "${key}" not found`, waitsFor })
}

function hasRequestedSize({ claim, volume }: ResizeView): Result {
  return hasItsSize(claim, checked(volume)) ? noNeed() : undefined
}

function sizesDiffer(view: ResizeView): Result {
  const volume = checked(view.volume)
  return endPlan(...planOf(SIZE_CHECKS, { view, volume, read: readSizes(view.claim, volume) }))
}

function oldSizeIsLeft({ view, volume, read }: ResizeFacts): Result {
  if (!read.ok || !view.settings.annotateFsResize || volume.preResize === undefined) return undefined
  if (read.sizes.capacity.compare(read.sizes.volume) < 0) return undefined
  return next({ kind: 'dropPreResize', patch: dropPreResizePatch(volume) })
}

function claimIsNotReady({ view: { claim } }: ResizeFacts): Result {
  return claim.phase !== undefined && claim.phase !== 'Bound' ? noNeed() : undefined
}

function requestIsNotLarger({ read }: ResizeFacts): Result {
  return read.ok && asksForNoMore(read.sizes) ? noNeed() : undefined
}

function volumeIsForeign({ view: { claim, settings }, volume }: ResizeFacts): Result {
  return isOurs(claim, volume, settings.driverName) ? undefined : noop("Resizer doesn't support PV")
}

function sizesAreInvalid({ volume, read }: ResizeFacts): Result {
  return read.ok ? undefined : reject(volume, read.message)
}

function volumeIsNotBound({ view: { claim }, volume }: ResizeFacts): Result {
  const unbound = whyNotBound(claim, volume)
  return unbound === undefined ? undefined : reject(volume, unbound)
}

function targetIsDue({ view, volume, read }: ResizeFacts): Result {
  if (!read.ok) return undefined
  const target = targetFor(view, read.sizes)
  const { allocated } = read.sizes
  const isNewSize = allocated === undefined || target.size === undefined || !allocated.equals(target.size)
  return endPlan(...planOf(EXPANSION_CHECKS, { view, volume, target, isNewSize }))
}

function nodeMustExpand({ target: { rule, size } }: ExpansionFacts): Result {
  return size === undefined
    ? endPlan({ kind: 'noop', why: 'Waiting for the node to expand the volume', rule })
    : undefined
}

function targetIsImpossible({ volume, target }: ExpansionFacts): Result {
  const message = whyNoTarget(checked(target.size))
  return message === undefined ? undefined : reject(volume, message)
}

function wasRefused({ view: { claim } }: ExpansionFacts): Result {
  return claim.sizeStatus === SIZE_STATUS.controllerInfeasible ? next({ kind: 'backOff' }) : undefined
}

function isDelayed({ view: { nextTryInMs }, isNewSize }: ExpansionFacts): Result {
  return isNewSize || nextTryInMs === undefined ? undefined : endPlan({ kind: 'postpone', ms: nextTryInMs })
}

function mustBeExpanded({ view: { claim, now }, target: { rule, size }, isNewSize }: ExpansionFacts): Result {
  const target = checked(size)
  return endPlan({ kind: 'start', patch: startPatch(claim, { target, newSize: isNewSize }, now), target, rule })
}

/** Reports whether the claim requests no more than its capacity. */
function asksForNoMore({ request, capacity }: Sizes): boolean {
  return request.compare(capacity) <= 0
}

/** Reports whether request and capacity are equal. It compares the texts, which is enough for nearly all claims. */
function hasItsSize(claim: ResizerClaim, volume: ResizerVolume): boolean {
  return claim.request === claim.capacity && volume.preResize === undefined
}

function targetFor({ claim, finallyFailed, settings }: ResizeView, sizes: Sizes): ResizeTarget {
  return targetOf(sizes, {
    status: claim.sizeStatus,
    finallyFailed,
    driverExpands: settings.driverExpands,
    nodeStepPending: isNodeStepPending(claim),
  })
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

function reject(volume: ResizerVolume, message: string): Result {
  return endPlan({ kind: 'reject', message, waitsFor: { kind: 'volume', name: volume.key } })
}

function noNeed(): Result {
  return noop('No need to resize PVC')
}

/** Ends the plan without work. */
function noop(why: string): Result {
  return endPlan({ kind: 'noop', why })
}
