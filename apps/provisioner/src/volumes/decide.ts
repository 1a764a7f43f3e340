import { endPlan, type PlanCheck, type PlanCheckResult, planOf } from '@csi-sidecars/controller'
import type { ProvisionerAttachment } from '../caches/cluster.ts'
import { VOLUME_FINALIZER } from '../caches/names.ts'
import type { ProvisionerVolume } from '../caches/volume.ts'

/** A PersistentVolume and its VolumeAttachments, read at one moment. */
export interface DeletionView {
  readonly volume: ProvisionerVolume
  readonly attachments: readonly ProvisionerAttachment[]
  /** True if this process has already deleted the volume in the back end. */
  readonly driverHasDeleted: boolean
}

export type PersistentVolumeStep =
  | { readonly kind: 'nothing'; readonly why: string }
  | { readonly kind: 'addFinalizer' }
  | { readonly kind: 'removeFinalizer' }
  | DeleteStep

/** Deletes the PersistentVolume. If `driverHasDeleted` is false, the volume in the back end is deleted first. */
export interface DeleteStep {
  readonly kind: 'delete'
  readonly driverHasDeleted: boolean
  /** A node to which the volume is attached, by the cache. Undefined: none. */
  readonly attachedTo: string | undefined
}

type Result = PlanCheckResult<PersistentVolumeStep>

/** The checks of a PersistentVolume. The first check that applies returns the whole plan. */
const VOLUME_CHECKS: readonly PlanCheck<DeletionView, PersistentVolumeStep>[] = [
  isForeign, // Leaves the volume to another provisioner.
  boundVolumeLacksFinalizer, // Adds our finalizer, so that the object outlives its volume.
  retainedVolumeHasFinalizer, // Removes our finalizer, because the policy keeps the volume without its object.
  volumeIsGone, // Does nothing: an object in deletion without our finalizer has no volume.
  isNotReleased, // Keeps a volume whose claim exists, or that was never bound.
  isRetained, // Keeps the volume of any policy but Delete.
  isElsewhere, // Leaves the volume to a process on a node that reaches it.
  mustBeDeleted, // Deletes the volume, and then the object.
]

/** Returns the steps for a PersistentVolume. Each plan has one step: the next run decides again. */
export function decideVolume(view: DeletionView): readonly PersistentVolumeStep[] {
  return planOf(VOLUME_CHECKS, view)
}

/** Reports whether the volume must be deleted now, except that it may be in use. */
export function isToBeDeleted(view: Omit<DeletionView, 'attachments'>): boolean {
  return decideVolume({ ...view, attachments: [] }).some(({ kind }) => kind === 'delete')
}

/** Reports whether the PersistentVolume has our finalizer. */
export function isProtected({ finalizers }: ProvisionerVolume): boolean {
  return finalizers?.includes(VOLUME_FINALIZER) === true
}

function isForeign({ volume }: DeletionView): Result {
  return volume.ours ? undefined : nothing('another provisioner is responsible')
}

function boundVolumeLacksFinalizer({ volume }: DeletionView): Result {
  const { phase, reclaimPolicy, deleting } = volume
  const mayNeedFinalizer = reclaimPolicy === 'Delete' && phase === 'Bound' && !deleting
  return mayNeedFinalizer && !isProtected(volume) ? endPlan({ kind: 'addFinalizer' }) : undefined
}

function retainedVolumeHasFinalizer({ volume }: DeletionView): Result {
  const keepsVolume = volume.reclaimPolicy === 'Retain' || volume.reclaimPolicy === 'Recycle'
  return keepsVolume && isProtected(volume) ? endPlan({ kind: 'removeFinalizer' }) : undefined
}

function volumeIsGone({ volume }: DeletionView): Result {
  return volume.deleting && !isProtected(volume) ? nothing('its volume is gone already') : undefined
}

function isNotReleased({ volume }: DeletionView): Result {
  return volume.phase === 'Released' ? undefined : nothing('its claim has not released it')
}

function isRetained({ volume }: DeletionView): Result {
  return volume.reclaimPolicy === 'Delete' ? undefined : nothing('its volume is retained')
}

function isElsewhere({ volume }: DeletionView): Result {
  return volume.isReachable ? undefined : nothing('only processes on other nodes can reach it')
}

function mustBeDeleted({ attachments, driverHasDeleted }: DeletionView): Result {
  return endPlan({ kind: 'delete', driverHasDeleted, attachedTo: attachments[0]?.node })
}

function nothing(why: string): Result {
  return endPlan({ kind: 'nothing', why })
}
