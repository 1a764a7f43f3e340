import { classNameOf, migratedTo, ownerOf, type ProvisionerClaim, selectedNode } from '../caches/claim.ts'
import type { Class } from '../caches/cluster.ts'
import { isKnown, type ProvisionerVolume } from '../caches/volume.ts'
import type { LocalNode } from '../node/local-node.ts'
import type { ProvisionerSettings } from '../parts.ts'
import type { ClaimWakeEvent } from '../request/wake-events.ts'

/** The state of a claim and of everything that decides its next step, read at one moment. */
export interface ClaimView {
  readonly claim: ProvisionerClaim
  /** The StorageClass, if it exists. For a deleted claim, the class of its running CreateVolume call. */
  readonly class: Class | undefined
  /** The name of the claim's volume. Undefined if no valid name can be derived from the flags. */
  readonly volumeName: string | undefined
  /** The PersistentVolume with the name `volumeName`. Undefined if it does not exist. */
  readonly existing: ProvisionerVolume | undefined
  /** True if the driver may still be working on a CreateVolume call for the claim. */
  readonly inProgress: boolean
  /** True if the volume exists at the driver, but its PersistentVolume is not stored yet. */
  readonly unsaved: boolean
  /** The milliseconds before the retry of a claim that the driver has refused as infeasible. 0: no wait. */
  readonly pausedForMs: number
  /** True if the allowed topologies of the class include the node of this process. */
  readonly allowsNode: boolean
  readonly settings: DecisionSettings
}

export type DecisionSettings = Pick<ProvisionerSettings, 'names' | 'claimFinalizer' | 'finalizeClaims' | 'node'>

export type ClaimDecision =
  | { readonly kind: 'nothing'; readonly why: string; readonly waitsFor?: ClaimWakeEvent }
  /** Remove our finalizer from the claim. */
  | { readonly kind: 'release'; readonly why: string }
  /** CreateVolume cannot be called. `report`: record a Warning event for the user. */
  | { readonly kind: 'fail'; readonly message: string; readonly waitsFor: ClaimWakeEvent; readonly report: boolean }
  | { readonly kind: 'pause'; readonly ms: number }
  /** Make the node of this process the selected node of the claim. */
  | { readonly kind: 'selectNode'; readonly class: Class; readonly node: LocalNode }
  /** Call CreateVolume. If `mark` is true, put our finalizer on the claim first. */
  | { readonly kind: 'provision'; readonly class: Class; readonly mark: boolean }

/** Returns the next step for a claim. The first check that applies decides. */
export function decideClaim(view: ClaimView): ClaimDecision {
  const { claim, existing, inProgress, unsaved, settings } = view
  const marked = isMarked(claim, settings)
  const finish = (why: string): ClaimDecision => (marked ? { kind: 'release', why } : { kind: 'nothing', why })
  if (unsaved) {
    const waitsFor = { kind: 'volume', name: view.volumeName ?? '' } as const
    return { kind: 'nothing', why: 'its PersistentVolume is being stored', waitsFor }
  }
  if (existing !== undefined) {
    return existing.claimUid === claim.uid ? finish('its PersistentVolume exists') : nameTaken(existing)
  }
  if (inProgress) return provision(view, marked)
  // After a restart, the finalizer is the only sign of a CreateVolume call that may be running.
  if (marked && claim.deleting && !isElsewhere(view)) return provision(view, marked)
  if (view.pausedForMs > 0) return { kind: 'pause', ms: view.pausedForMs }
  if (claim.volumeName !== '') {
    const isFollowed = marked && claim.volumeName !== view.volumeName && !isElsewhere(view)
    return isFollowed ? provision(view, marked) : finish('it has a volume')
  }
  if (!isOurs(claim, settings)) return finish('another provisioner is responsible')
  if (claim.deleting && settings.finalizeClaims) return { kind: 'nothing', why: 'it is being deleted' }
  return ownNode(view) ?? provisionInTurn(view, marked)
}

/** Reports whether, with `--node-deployment`, the claim has no selected node or the node of another process. */
function isElsewhere({ claim, settings }: ClaimView): boolean {
  return settings.node !== undefined && selectedNode(claim) !== settings.node.name
}

/** Returns the step for a claim that is not assigned to the node of this process. Undefined for other claims. */
function ownNode(view: ClaimView): ClaimDecision | undefined {
  const { claim, class: storageClass, settings, allowsNode } = view
  const { node } = settings
  if (node === undefined || !isElsewhere(view)) return undefined
  if (selectedNode(claim)) return { kind: 'nothing', why: 'another node is selected' }
  if (storageClass === undefined) return undefined
  const waitsFor = { kind: 'class', name: classNameOf(claim) } as const
  const isImmediate = !storageClass.waitsForConsumer && node.immediateBinding
  if (!isImmediate || !isKnown(storageClass.provisioner, settings.names)) {
    return { kind: 'nothing', why: 'no node is selected', waitsFor }
  }
  if (!allowsNode) return { kind: 'nothing', why: 'the class does not allow this node', waitsFor }
  return { kind: 'selectNode', class: storageClass, node }
}

/** Reports whether the claim has our finalizer: a CreateVolume call may have begun whose result is unknown. */
export function isMarked(
  { finalizers }: ProvisionerClaim,
  { claimFinalizer }: Pick<DecisionSettings, 'claimFinalizer'>,
): boolean {
  return finalizers?.includes(claimFinalizer) === true
}

export function isOurs(claim: ProvisionerClaim, { names }: Pick<DecisionSettings, 'names'>): boolean {
  const owner = ownerOf(claim)
  return (owner === names.driver || migratedTo(claim) === names.driver) && isKnown(owner, names)
}

function nameTaken({ key }: ProvisionerVolume): ClaimDecision {
  return {
    kind: 'fail',
    message: `the PersistentVolume ${key} has the name of the volume and belongs to another claim`,
    waitsFor: { kind: 'volume', name: key },
    report: true,
  }
}

function provisionInTurn(view: ClaimView, marked: boolean): ClaimDecision {
  const { claim, class: storageClass, settings } = view
  const waitsFor = { kind: 'class', name: classNameOf(claim) } as const
  if (storageClass === undefined) return provision(view, marked)
  if (storageClass.waitsForConsumer && !selectedNode(claim)) {
    return { kind: 'nothing', why: 'no node is selected', waitsFor }
  }
  if (!isKnown(storageClass.provisioner, settings.names)) {
    return { kind: 'nothing', why: 'the class has another provisioner', waitsFor }
  }
  return provision(view, marked)
}

function provision({ claim, class: storageClass, settings }: ClaimView, marked: boolean): ClaimDecision {
  const name = classNameOf(claim)
  const waitsFor = { kind: 'class', name } as const
  if (storageClass === undefined) {
    return { kind: 'fail', message: `storageClass "${name}" not found`, waitsFor, report: marked }
  }
  if (!isKnown(storageClass.provisioner, settings.names)) {
    return { kind: 'fail', message: `storageClass "${name}" has another provisioner`, waitsFor, report: marked }
  }
  return { kind: 'provision', class: storageClass, mark: settings.finalizeClaims && !marked && !claim.deleting }
}
