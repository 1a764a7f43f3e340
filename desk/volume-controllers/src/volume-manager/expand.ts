import { claimStatusPatch, type Patch, type PersistentVolumeClaim, Quantity, rfc3339 } from '@csi-sidecars/kube-types'
import { type Claim, claimProjection } from '../caches/claim.ts'
import { NODE_EXPANSION_NOT_REQUIRED } from '../caches/metadata.ts'
import type { ActualVolume } from './actual-state.ts'

/** The action of the node for a volume that has grown. */
export type Expansion =
  /** The node waits: the controller has not finished, or another component has to act. */
  | { readonly kind: 'wait' }
  /** The claim has its requested size, and the driver needs no call on this node. */
  | { readonly kind: 'done'; readonly size: string }
  /** `byNode`: true if this node updates the claim, false if another node has already updated it. */
  | { readonly kind: 'expand'; readonly size: string; readonly byNode: boolean }

/** The failure of an expansion on a node, as the status of the claim shows it. */
export interface ExpansionFailure {
  readonly message: string
  /** True if the size cannot be reached, so that the controller may choose a smaller size. */
  readonly infeasible: boolean
  readonly now: number
}

/** Reports whether the volume may be larger than its file system, according to the caches. */
export function hasGrown(
  capacity: string | undefined,
  claim: Claim | undefined,
  actual: ActualVolume | undefined,
): boolean {
  if (capacity === undefined || claim === undefined || actual?.expansion === 'inUse') return false
  const size = actual?.claimSize ?? claim.capacity
  if (size === undefined || Quantity.parse(capacity).compare(Quantity.parse(size)) <= 0) return false
  return decideExpansion(claim, capacity).kind !== 'wait'
}

/** Plans the node's part of an expansion, from the states that resizer and kubelet write to the claim. */
export function decideExpansion(claim: Claim, capacity: string): Expansion {
  const { resizeStatus, allocated, annotations, accessModes } = claim
  const size = allocated ?? capacity
  const present = Quantity.parse(claim.capacity ?? '0')
  if (resizeStatus === undefined && present.compare(Quantity.parse(size)) >= 0) {
    // A volume on many nodes is expanded on each node, unless the driver needs no node expansion.
    const follows = accessModes.includes('ReadWriteMany') && !(NODE_EXPANSION_NOT_REQUIRED in annotations)
    return follows ? { kind: 'expand', size, byNode: false } : { kind: 'done', size }
  }
  // An old resizer writes neither the status nor the allocated size. The node then expands the volume.
  if (resizeStatus === undefined)
    return allocated === undefined ? { kind: 'expand', size, byNode: true } : { kind: 'wait' }
  const waits = resizeStatus === 'NodeResizePending' || resizeStatus === 'NodeResizeInProgress'
  return waits ? { kind: 'expand', size, byNode: true } : { kind: 'wait' }
}

const RESIZE_CONDITIONS = ['FileSystemResizePending', 'Resizing', 'ControllerResizeError', 'NodeResizeError']

type Status = NonNullable<PersistentVolumeClaim['status']>

/**
 * Returns the patch that marks the start of an expansion. The API server refuses the patch if the claim has changed,
 * because the claim may request another size.
 */
export function inProgressPatch(claim: PersistentVolumeClaim): Patch {
  return statusPatch(claim, withWord(claim.status ?? {}, 'NodeResizeInProgress'), { requireVersion: true })
}

/** Returns the patch that gives the claim the new capacity and removes the resize states. */
export function finishedPatch(claim: PersistentVolumeClaim, size: string): Patch {
  const status = withWord(claim.status ?? {}, undefined)
  const conditions = (status.conditions ?? []).filter(({ type }) => !RESIZE_CONDITIONS.includes(type))
  const capacity = { ...status.capacity, storage: size }
  return statusPatch(claim, { ...status, capacity, conditions }, { requireVersion: true })
}

/** Returns the patch that records a failure. It has no resource version, so that no conflict prevents the record. */
export function failedPatch(claim: PersistentVolumeClaim, { message, infeasible, now }: ExpansionFailure): Patch {
  const status = infeasible ? withWord(claim.status ?? {}, 'NodeResizeInfeasible') : (claim.status ?? {})
  const error = {
    type: 'NodeResizeError',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: rfc3339(now),
    message: `failed to expand pvc with ${message}`,
  }
  const existing = status.conditions ?? []
  const present = existing.some(({ type, status: written }) => type === error.type && written === error.status)
  const conditions = present ? existing : [...existing.filter(({ type }) => type !== error.type), error]
  return statusPatch(claim, { ...status, conditions }, { requireVersion: false })
}

function statusPatch(
  claim: PersistentVolumeClaim,
  status: Status,
  { requireVersion }: { requireVersion: boolean },
): Patch {
  const resourceVersion = requireVersion ? claim.metadata?.resourceVersion : undefined
  return claimStatusPatch(claim, { ...claim, status }, { resourceVersion })
}

function withWord(status: Status, word: string | undefined): Status {
  const { storage: _, ...others } = status.allocatedResourceStatuses ?? {}
  return { ...status, allocatedResourceStatuses: word === undefined ? others : { ...others, storage: word } }
}

/** Reports whether the claim now requests a size other than the size of the expansion. */
export function wantsOtherSize(claim: PersistentVolumeClaim, size: string): boolean {
  return !Quantity.parse(claimProjection(claim).request).equals(Quantity.parse(size))
}
