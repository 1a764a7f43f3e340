import { endPlan, type PlanCheck, type PlanCheckResult, planOf } from '@csi-sidecars/controller'
import {
  classNameOf,
  isPending,
  migratedTo,
  type ProvisionerClaim,
  provisionerOf,
  selectedNode,
} from '../caches/claim.ts'
import type { Class } from '../caches/cluster.ts'
import { isKnown, type ProvisionerVolume } from '../caches/volume.ts'
import type { LocalNode } from '../node/local-node.ts'
import type { ProvisionerSettings } from '../parts.ts'
import type { ClaimWakeEvent } from '../request/wake-events.ts'
import { hasPopulator } from '../sources/data-source.ts'

/** The state of a claim and of everything that decides its next step, read at one moment. */
export interface ClaimView {
  readonly claim: ProvisionerClaim
  /** The StorageClass, if it exists. For a deleted claim, the class of its running CreateVolume call. */
  readonly class: Class | undefined
  /** The name of the claim's volume. Undefined if the flags allow no valid name. */
  readonly volumeName: string | undefined
  /** The PersistentVolume with the name `volumeName`. Undefined if it does not exist. */
  readonly existingVolume: ProvisionerVolume | undefined
  /** True if a CreateVolume call for the claim may still be running. */
  readonly isCallUncertain: boolean
  /** True if our finalizer on the claim is left over: this process knows the end of the last CreateVolume call. */
  readonly isCreationFinished: boolean
  /** True if the volume exists, but its PersistentVolume is not stored yet. */
  readonly hasUnsavedVolume: boolean
  /** The milliseconds before the retry of a claim that the driver has refused as infeasible. 0: no wait. */
  readonly pausedForMs: number
  /** True if the allowed topologies of the class include the node of this process. */
  readonly allowsNode: boolean
  readonly settings: DecisionSettings
}

export type DecisionSettings = Pick<ProvisionerSettings, 'names' | 'claimFinalizer' | 'finalizeClaims' | 'node'>

export type ProvisionStep =
  /** There is nothing to create now. */
  | { readonly kind: 'nothing'; readonly why: string; readonly waitsFor?: ClaimWakeEvent }
  /** Removes our finalizer from the claim. */
  | { readonly kind: 'release'; readonly why: string }
  /** CreateVolume cannot be called. `report`: record a Warning event for the user. */
  | { readonly kind: 'fail'; readonly message: string; readonly waitsFor: ClaimWakeEvent; readonly report: boolean }
  | { readonly kind: 'pause'; readonly ms: number }
  /** Makes the node of this process the selected node of the claim. */
  | { readonly kind: 'selectNode'; readonly class: Class; readonly node: LocalNode }
  /** Gives the claim back to the scheduler if its selected node has no driver. */
  | { readonly kind: 'checkNode'; readonly node: string; readonly afterMs: number }
  /** Calls CreateVolume. If `mustAddFinalizer` is true, our finalizer is put on the claim before the call. */
  | { readonly kind: 'provision'; readonly class: Class; readonly mustAddFinalizer: boolean }

type ClaimCheck = PlanCheck<ClaimView, ProvisionStep>
type Result = PlanCheckResult<ProvisionStep>

/** The checks of a claim. The first check that applies returns the whole plan. */
const CLAIM_CHECKS: readonly ClaimCheck[] = [
  volumeIsBeingStored, // Waits until the PersistentVolume is stored, because the volume exists.
  volumeIsStored, // Removes our finalizer, because the creation has succeeded.
  volumeNameIsInUse, // Fails if the PersistentVolume of this name belongs to another claim.
  callIsUncertain, // Repeats a CreateVolume call of unknown outcome, whatever has happened to the claim.
  deletedClaimHasFinalizer, // Repeats it also after a restart: our finalizer is then the only sign of the call.
  isPaused, // Waits after the driver has refused the claim as infeasible.
  claimWithFinalizerHasOtherVolume, // Repeats a call of an earlier process, so that its volume gets a PersistentVolume.
  hasVolume, // Removes our finalizer, because the claim needs no volume.
  isForeign, // Leaves the claim to another provisioner.
  isBeingDeleted, // With --finalize-claims, creates nothing: a claim in deletion gets no finalizer.
  otherNodeMayBeWithoutDriver, // Gives the claim back to the scheduler if the selected node has no driver.
  otherNodeIsSelected, // Leaves the claim to the process on the selected node.
  nodeIsSelectedByOthers, // Waits until the scheduler selects a node, or the class is replaced.
  classExcludesNode, // Waits for a class that allows the node of this process.
  nodeMustBeSelected, // Selects the node of this process. The next run calls CreateVolume.
  consumerIsMissing, // Waits until the scheduler selects a node for the first pod of the claim.
  classIsForeign, // Waits for a class of this driver.
  mustBeCreated, // Calls CreateVolume.
]

/** The checks of a claim whose volume must be created. Without a class, no request can be built. */
const CREATION_CHECKS: readonly ClaimCheck[] = [
  classIsMissing, // Fails if the class does not exist.
  classBelongsToOther, // Fails if the class has another provisioner.
  canBeCreated, // Calls CreateVolume. With --finalize-claims our finalizer comes first.
]

/** Returns the steps for a claim. Each plan has one step: the next run decides again. */
export function decideClaim(view: ClaimView): readonly ProvisionStep[] {
  return planOf(CLAIM_CHECKS, view)
}

function volumeIsBeingStored({ hasUnsavedVolume, volumeName = '' }: ClaimView): Result {
  if (!hasUnsavedVolume) return undefined
  const waitsFor = { kind: 'volume', name: volumeName } as const
  return endPlan({ kind: 'nothing', why: 'its PersistentVolume is being stored', waitsFor })
}

function volumeIsStored(view: ClaimView): Result {
  return view.existingVolume?.claimUid === view.claim.uid
    ? releaseOrNothing(view, 'its PersistentVolume exists')
    : undefined
}

function volumeNameIsInUse({ existingVolume }: ClaimView): Result {
  if (existingVolume === undefined) return undefined
  const { key } = existingVolume
  const message = `the PersistentVolume ${key} has the name of the volume and belongs to another claim`
  return endPlan({ kind: 'fail', message, waitsFor: { kind: 'volume', name: key }, report: true })
}

function callIsUncertain(view: ClaimView): Result {
  return view.isCallUncertain ? planCreation(view) : undefined
}

function deletedClaimHasFinalizer(view: ClaimView): Result {
  const { claim, settings } = view
  if (!claim.deleting || !hasOurFinalizer(claim, settings) || isForOtherNode(view)) return undefined
  return view.isCreationFinished ? releaseOrNothing(view, 'its creation has ended') : planCreation(view)
}

function isPaused({ pausedForMs }: ClaimView): Result {
  return pausedForMs > 0 ? endPlan({ kind: 'pause', ms: pausedForMs }) : undefined
}

function claimWithFinalizerHasOtherVolume(view: ClaimView): Result {
  const { claim, volumeName, settings } = view
  if (claim.volumeName === '' || claim.volumeName === volumeName) return undefined
  const mayHaveCall = hasOurFinalizer(claim, settings) && !isForOtherNode(view) && !view.isCreationFinished
  return mayHaveCall ? planCreation(view) : undefined
}

function hasVolume(view: ClaimView): Result {
  return view.claim.volumeName === '' ? undefined : releaseOrNothing(view, 'it has a volume')
}

function isForeign(view: ClaimView): Result {
  return isOurs(view.claim, view.settings) ? undefined : releaseOrNothing(view, 'another provisioner is responsible')
}

function isBeingDeleted({ claim, settings }: ClaimView): Result {
  return claim.deleting && settings.finalizeClaims
    ? endPlan({ kind: 'nothing', why: 'it is being deleted' })
    : undefined
}

function otherNodeMayBeWithoutDriver(view: ClaimView): Result {
  const { claim, class: storageClass, settings } = view
  const selected = selectedNode(claim)
  if (settings.node === undefined || !selected || !isForOtherNode(view) || storageClass === undefined) return undefined
  const { rescheduleAfterMs } = settings.node
  if (rescheduleAfterMs === 0 || !isKnown(storageClass.provisioner, settings.names)) return undefined
  return mayLoseNode(claim, settings)
    ? endPlan({ kind: 'checkNode', node: selected, afterMs: rescheduleAfterMs })
    : undefined
}

function otherNodeIsSelected(view: ClaimView): Result {
  if (!isForOtherNode(view) || !selectedNode(view.claim)) return undefined
  return endPlan({ kind: 'nothing', why: 'another node is selected' })
}

function nodeIsSelectedByOthers(view: ClaimView): Result {
  const { claim, class: storageClass, settings } = view
  if (!isForOtherNode(view) || storageClass === undefined) return undefined
  const isImmediate = !storageClass.waitsForConsumer && settings.node?.immediateBinding === true
  if (isImmediate && isKnown(storageClass.provisioner, settings.names)) return undefined
  return endPlan({ kind: 'nothing', why: 'no node is selected', waitsFor: classEvent(claim) })
}

function classExcludesNode(view: ClaimView): Result {
  const { claim, class: storageClass, allowsNode } = view
  if (!isForOtherNode(view) || storageClass === undefined || allowsNode) return undefined
  return endPlan({ kind: 'nothing', why: 'the class does not allow this node', waitsFor: classEvent(claim) })
}

function nodeMustBeSelected(view: ClaimView): Result {
  const { class: storageClass, settings } = view
  if (!isForOtherNode(view) || storageClass === undefined || settings.node === undefined) return undefined
  return endPlan({ kind: 'selectNode', class: storageClass, node: settings.node })
}

function consumerIsMissing({ claim, class: storageClass }: ClaimView): Result {
  if (storageClass?.waitsForConsumer !== true || selectedNode(claim)) return undefined
  return endPlan({ kind: 'nothing', why: 'no node is selected', waitsFor: classEvent(claim) })
}

function classIsForeign({ claim, class: storageClass, settings }: ClaimView): Result {
  if (storageClass === undefined || isKnown(storageClass.provisioner, settings.names)) return undefined
  return endPlan({ kind: 'nothing', why: 'the class has another provisioner', waitsFor: classEvent(claim) })
}

function mustBeCreated(view: ClaimView): Result {
  return planCreation(view)
}

function classIsMissing({ claim, class: storageClass, settings }: ClaimView): Result {
  if (storageClass !== undefined) return undefined
  const message = `storageClass "${classNameOf(claim)}" not found`
  return endPlan({ kind: 'fail', message, waitsFor: classEvent(claim), report: hasOurFinalizer(claim, settings) })
}

function classBelongsToOther({ claim, class: storageClass, settings }: ClaimView): Result {
  if (storageClass === undefined || isKnown(storageClass.provisioner, settings.names)) return undefined
  const message = `storageClass "${classNameOf(claim)}" has another provisioner`
  return endPlan({ kind: 'fail', message, waitsFor: classEvent(claim), report: hasOurFinalizer(claim, settings) })
}

function canBeCreated({ claim, class: storageClass, settings }: ClaimView): Result {
  if (storageClass === undefined) return undefined
  const mustAddFinalizer = settings.finalizeClaims && !claim.deleting && !hasOurFinalizer(claim, settings)
  return endPlan({ kind: 'provision', class: storageClass, mustAddFinalizer })
}

/** Ends the plan with the creation of the volume, or with the failure of its request. */
function planCreation(view: ClaimView): Result {
  return endPlan(...planOf(CREATION_CHECKS, view))
}

/** Ends the plan of a claim without further work. Our finalizer is removed. */
function releaseOrNothing({ claim, settings }: ClaimView, why: string): Result {
  return endPlan({ kind: hasOurFinalizer(claim, settings) ? 'release' : 'nothing', why })
}

function classEvent(claim: ProvisionerClaim): ClaimWakeEvent<'class'> {
  return { kind: 'class', name: classNameOf(claim) }
}

/** Reports whether, with `--node-deployment`, the claim has no selected node or the node of another process. */
function isForOtherNode({ claim, settings }: ClaimView): boolean {
  return settings.node !== undefined && selectedNode(claim) !== settings.node.name
}

/**
 * Reports whether another node may be selected for the claim, because no CreateVolume call for it can have begun. Only
 * with `--finalize-claims` the missing finalizer proves that.
 */
export function mayLoseNode(
  claim: ProvisionerClaim,
  settings: Pick<DecisionSettings, 'names' | 'claimFinalizer' | 'finalizeClaims'>,
): boolean {
  if (!settings.finalizeClaims || hasOurFinalizer(claim, settings) || claim.deleting || claim.volumeName !== '')
    return false
  return isPending(claim) && isOurs(claim, settings) && !hasPopulator(claim)
}

/** Reports whether the claim has our finalizer: a CreateVolume call may have begun whose result is unknown. */
export function hasOurFinalizer(
  { finalizers }: ProvisionerClaim,
  { claimFinalizer }: Pick<DecisionSettings, 'claimFinalizer'>,
): boolean {
  return finalizers?.includes(claimFinalizer) === true
}

export function isOurs(claim: ProvisionerClaim, { names }: Pick<DecisionSettings, 'names'>): boolean {
  const owner = provisionerOf(claim)
  return (owner === names.driver || migratedTo(claim) === names.driver) && isKnown(owner, names)
}
