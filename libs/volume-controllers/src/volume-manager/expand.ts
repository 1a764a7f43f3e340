import { claimStatusPatch, type Patch, type PersistentVolumeClaim, Quantity, rfc3339 } from '@csi-sidecars/kube-types'
import { NODE_EXPANSION_NOT_REQUIRED } from '../caches/annotations.ts'
import { type Claim, claimProjection } from '../caches/claim.ts'
import type { ActualVolume } from './actual-state.ts'

/** What the node has to do about a volume that has grown. */
export type Expansion =
  /** Nothing now: the controller has not finished, or another component has to act. */
  | { readonly do: 'wait' }
  /** Nothing more on this node: the claim has its size and the driver needs no call here. */
  | { readonly do: 'done'; readonly size: string }
  /** `own`: the claim waits for this node. Otherwise another node has updated the claim, and this one only follows. */
  | { readonly do: 'expand'; readonly size: string; readonly own: boolean }

/** Whether the volume may have grown beyond its file system, by what the caches know. */
export function hasGrown(
  capacity: string | undefined,
  claim: Claim | undefined,
  actual: ActualVolume | undefined,
): boolean {
  if (capacity === undefined || claim === undefined || actual?.expansion === 'inUse') return false
  const size = actual?.claimSize ?? claim.capacity
  if (size === undefined || Quantity.parse(capacity).compare(Quantity.parse(size)) <= 0) return false
  return decideExpansion(claim, capacity).do !== 'wait'
}

/** The node's half of an expansion, by the states that resizer and kubelet exchange in the claim. */
export function decideExpansion(claim: Claim, capacity: string): Expansion {
  const { resizeStatus, allocated, annotations, accessModes } = claim
  const size = allocated ?? capacity
  const present = Quantity.parse(claim.capacity ?? '0')
  if (resizeStatus === undefined && present.compare(Quantity.parse(size)) >= 0) {
    // A volume of many nodes is expanded on each of them, unless the driver needs none.
    const follows = accessModes.includes('ReadWriteMany') && !(NODE_EXPANSION_NOT_REQUIRED in annotations)
    return follows ? { do: 'expand', size, own: false } : { do: 'done', size }
  }
  // A resizer that writes neither state is an old one: it leaves the rest to the node without reporting that.
  if (resizeStatus === undefined) return allocated === undefined ? { do: 'expand', size, own: true } : { do: 'wait' }
  const waits = resizeStatus === 'NodeResizePending' || resizeStatus === 'NodeResizeInProgress'
  return waits ? { do: 'expand', size, own: true } : { do: 'wait' }
}

const RESIZE_CONDITIONS = ['FileSystemResizePending', 'Resizing', 'ControllerResizeError', 'NodeResizeError']

type Status = NonNullable<PersistentVolumeClaim['status']>

/** The node has begun. Refused when the claim has changed: the size may be another by now. */
export function inProgressPatch(claim: PersistentVolumeClaim): Patch {
  return statusPatch(claim, withWord(claim.status ?? {}, 'NodeResizeInProgress'), { guarded: true })
}

/** The claim has what the volume has, and nothing waits any more. */
export function finishedPatch(claim: PersistentVolumeClaim, size: string): Patch {
  const status = withWord(claim.status ?? {}, undefined)
  const conditions = (status.conditions ?? []).filter(({ type }) => !RESIZE_CONDITIONS.includes(type))
  const capacity = { ...status.capacity, storage: size }
  return statusPatch(claim, { ...status, capacity, conditions }, { guarded: true })
}

export interface ExpansionFailure {
  readonly message: string
  /** The size can never be had here: the controller may go back to a smaller one. */
  readonly infeasible: boolean
  readonly now: number
}

/** Not guarded: without the mark the size that failed would stick. */
export function failedPatch(claim: PersistentVolumeClaim, { message, infeasible, now }: ExpansionFailure): Patch {
  const status = infeasible ? withWord(claim.status ?? {}, 'NodeResizeInfeasible') : (claim.status ?? {})
  const error = {
    type: 'NodeResizeError',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: rfc3339(now),
    message: `failed to expand pvc with ${message}`,
  }
  const known = status.conditions ?? []
  const present = known.some(({ type, status: is }) => type === error.type && is === error.status)
  const conditions = present ? known : [...known.filter(({ type }) => type !== error.type), error]
  return statusPatch(claim, { ...status, conditions }, { guarded: false })
}

function statusPatch(claim: PersistentVolumeClaim, status: Status, { guarded }: { guarded: boolean }): Patch {
  const resourceVersion = guarded ? claim.metadata?.resourceVersion : undefined
  return claimStatusPatch(claim, { ...claim, status }, { resourceVersion })
}

function withWord(status: Status, word: string | undefined): Status {
  const { storage: _, ...others } = status.allocatedResourceStatuses ?? {}
  return { ...status, allocatedResourceStatuses: word === undefined ? others : { ...others, storage: word } }
}

/** What was asked for meanwhile is not what is being expanded to. */
export function wantsOtherSize(claim: PersistentVolumeClaim, size: string): boolean {
  return !Quantity.parse(claimProjection(claim).request).equals(Quantity.parse(size))
}
