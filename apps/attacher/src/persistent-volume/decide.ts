import { endPlan, type PlanCheck, type PlanCheckResult, planOf, type WakeEvent } from '@csi-sidecars/controller'
import { type Patch, removeFinalizerPatch } from '@csi-sidecars/kube-types'
import type { CachedAttachment } from '../caches/attachment.ts'
import type { CachedVolume } from '../caches/volume.ts'
import type { UpdateEvent } from '../term/update-event.ts'

/** The names that decide whose finalizer is removed. */
export interface VolumeReleaseSettings {
  readonly driverName: string
  readonly finalizer: string
}

/** A PersistentVolume and the attachments that name it, read at one moment. */
export interface ReleaseView {
  readonly pv: CachedVolume
  readonly attachments: readonly CachedAttachment[]
  /** True if another writer has removed our finalizer. */
  readonly finalizerRemoved: boolean
  readonly settings: VolumeReleaseSettings
}

/** A volume waits for the deletion of each attachment that uses it. */
export type ReleaseWakeKind = 'attachment'

export type ReleaseStep =
  /** Restores our finalizer on a volume in use. */
  | { readonly kind: 'restoreFinalizer' }
  | { readonly kind: 'removeFinalizer'; readonly patch: Patch }
  /** Keeps our finalizer until no attachment names the volume. */
  | { readonly kind: 'awaitDetach'; readonly waitsFor: readonly WakeEvent<ReleaseWakeKind>[] }

type Result = PlanCheckResult<ReleaseStep>

/** The checks of a PersistentVolume. The first check that applies returns the whole plan. */
const RELEASE_CHECKS: readonly PlanCheck<ReleaseView, ReleaseStep>[] = [
  finalizerWasRemoved, // Restores our finalizer, because the volume could be deleted while it is attached.
  finalizerIsNeedless, // Removes our finalizer from a volume that no attachment names.
  isStillAttached, // Waits for the deletion of its attachments.
]

/** Returns the steps for a PersistentVolume. Empty if there is nothing to do. */
export function decideRelease(view: ReleaseView): readonly ReleaseStep[] {
  return planOf(RELEASE_CHECKS, view)
}

function finalizerWasRemoved({ pv, attachments, finalizerRemoved, settings }: ReleaseView): Result {
  return finalizerRemoved && needsFinalizer(pv, attachments, settings)
    ? endPlan({ kind: 'restoreFinalizer' })
    : undefined
}

function finalizerIsNeedless({ pv, attachments, settings }: ReleaseView): Result {
  const patch = releasePatch(pv, attachments, settings)
  return patch && endPlan({ kind: 'removeFinalizer', patch })
}

function isStillAttached({ pv, attachments, settings }: ReleaseView): Result {
  if (!concernsUs(pv, settings)) return undefined
  return endPlan({ kind: 'awaitDetach', waitsFor: attachments.map(({ key }) => ({ kind: 'attachment', name: key })) })
}

export function concernsUs(pv: CachedVolume, settings: VolumeReleaseSettings): boolean {
  return pv.finalizers?.includes(settings.finalizer) === true && mayBeReleased(pv, settings)
}

/** Reports whether the volume is being deleted, or is an in-tree volume that is no longer migrated to this driver. */
function mayBeReleased(pv: CachedVolume, { driverName }: VolumeReleaseSettings): boolean {
  return pv.deleting || (pv.kind === 'inTree' && pv.migratedTo !== driverName)
}

type Change = Pick<UpdateEvent<CachedVolume>, 'before' | 'after'>

/**
 * Reports whether another writer has removed our finalizer. This process removes it only if the volume is being deleted
 * or is no longer migrated to this driver.
 */
export function hasLostFinalizer({ before, after }: Change, settings: VolumeReleaseSettings): boolean {
  const { finalizer } = settings
  const isLost = before.finalizers?.includes(finalizer) === true && after.finalizers?.includes(finalizer) !== true
  return isLost && !mayBeReleased(after, settings)
}

/** Reports whether our finalizer is missing on an attached volume. The volume could be deleted then. */
export function needsFinalizer(
  pv: CachedVolume,
  attachments: readonly CachedAttachment[],
  settings: VolumeReleaseSettings,
): boolean {
  const { finalizer } = settings
  if (pv.finalizers?.includes(finalizer) || mayBeReleased(pv, settings)) return false
  return attachments.some((va) => va.ours && (!va.deleting || va.finalizers?.includes(finalizer)))
}

/** Returns the patch that removes our finalizer. Undefined if the volume lacks it, or must not be deleted yet. */
export function releasePatch(
  pv: CachedVolume,
  attachments: readonly unknown[],
  settings: VolumeReleaseSettings,
): Patch | undefined {
  if (!mayBeReleased(pv, settings) || attachments.length > 0) return undefined
  return removeFinalizerPatch(pv.finalizers, settings.finalizer, pv.uid)
}
