import { checked, endPlan, next, type PlanCheck, type PlanCheckResult, planOf } from '@csi-sidecars/controller'
import { callSource, type UnpublishRequest } from '../volumes/call-source.ts'
import { nodeIdIn, pvOf } from '../volumes/volume-view.ts'
import { assertUsable, hasStaleError, nodeFailure, secretIsReferenced, sourceIsUnknown } from './checks.ts'
import type { CallFacts } from './facts.ts'
import type { AttachmentView } from './observe.ts'
import type { DetachStep } from './steps.ts'

/** The checks of a detach. It works while the volume is deleted, and uses an annotation if the CSINode is missing. */
const DETACH_CHECKS: readonly PlanCheck<CallFacts, DetachStep>[] = [
  onlyStatusIsLeft, // Writes the status if our finalizer is removed and the status is outdated.
  isDetached, // Ends the plan if our finalizer is removed, unless the driver still lists the volume as published.
  lostVolumeIsDetached, // Removes our finalizer if the volume is detached and its PersistentVolume is gone.
  volumeWasReplaced, // Blocks if the PersistentVolume was recreated with another handle than the attached volume has.
  volumeIsLost, // Detaches by the attachment's annotations if the PersistentVolume is gone; blocks without them.
  sourceIsUnknown, // Fails if the attachment has no usable volume source.
  secretIsReferenced, // Reads the Secret of the volume, for this call only.
  nodeIsUnknown, // Fails if neither the CSINode nor the attachment has a node ID.
  volumeMayBePublished, // Calls ControllerUnpublishVolume.
  finalizerIsLeft, // Removes our finalizer after the unpublish.
]

/** Returns the steps of a detach in the order of their requests; none if the volume counts as detached. */
export function decideDetach(view: AttachmentView): readonly DetachStep[] {
  return planOf(DETACH_CHECKS, { view, source: callSource(view.volume) })
}

type DetachCheck = PlanCheckResult<DetachStep>

function hasFinalizer({ va, settings }: AttachmentView): boolean {
  return va.finalizers?.includes(settings.finalizer) === true
}

function onlyStatusIsLeft({ view }: CallFacts): DetachCheck {
  const { va, mustWriteStatus, listingAgrees, settings } = view
  const isOutdated = mustWriteStatus || (listingAgrees && hasStaleError(va, settings.finalizer))
  return !hasFinalizer(view) && !view.listingDiffers && isOutdated ? endPlan({ kind: 'markDetached' }) : undefined
}

function isDetached({ view }: CallFacts): DetachCheck {
  return hasFinalizer(view) || view.listingDiffers ? undefined : endPlan()
}

function lostVolumeIsDetached({ view }: CallFacts): DetachCheck {
  return view.isLostVolumeDetached && !view.listingDiffers ? endPlan(removeFinalizer(view)) : undefined
}

function volumeWasReplaced({ view, source }: CallFacts): DetachCheck {
  const { va, volume, settings } = view
  const { remembered } = va
  const pv = pvOf(volume)
  if (!settings.recoverLostVolumes || remembered === undefined || pv === undefined) return undefined
  if (pv.uid === remembered.uid || (source.ok && source.csi.volumeHandle === remembered.handle)) return undefined
  const replaced = `PersistentVolume "${pv.key}" was recreated after the attach`
  const message = `${replaced}: its uid is ${pv.uid}, the uid of the attached volume was ${remembered.uid}`
  return endPlan({ kind: 'block', message, waitsFor: { kind: 'volumeGone', name: pv.key }, obstacle: undefined })
}

function volumeIsLost({ view, source }: CallFacts): DetachCheck {
  const { volume } = view
  if (source.ok || volume.kind !== 'pv' || volume.pv !== undefined) return undefined
  const { name } = volume
  const request = rememberedRequest(view)
  if (request === undefined) {
    const waitsFor = { kind: 'volume', name } as const
    return endPlan({ kind: 'block', message: source.message, waitsFor, obstacle: 'PersistentVolumeMissing' })
  }
  return endPlan<DetachStep>(
    { kind: 'confirmVolumeIsGone', name },
    { kind: 'unpublish', request, migrated: false, isVolumeLost: true },
    removeFinalizer(view),
  )
}

/** Returns the request from the annotations of the attachment, with `--recover-lost-volumes`. */
function rememberedRequest(view: AttachmentView): UnpublishRequest | undefined {
  const { remembered } = view.va
  if (!view.settings.recoverLostVolumes || remembered === undefined) return undefined
  const nodeId = nodeIdOf(view, remembered.handle)
  return nodeId === undefined ? undefined : { volumeId: remembered.handle, nodeId }
}

function nodeIsUnknown({ view, source }: CallFacts): DetachCheck {
  return nodeIdOf(view, assertUsable(source).csi.volumeHandle) === undefined ? endPlan(nodeFailure(view)) : undefined
}

function volumeMayBePublished({ view, source }: CallFacts): DetachCheck {
  const { csi, migrated } = assertUsable(source)
  const nodeId = checked(nodeIdOf(view, csi.volumeHandle))
  return next({ kind: 'unpublish', request: { volumeId: csi.volumeHandle, nodeId }, migrated })
}

function finalizerIsLeft({ view }: CallFacts): DetachCheck {
  return hasFinalizer(view) ? endPlan(removeFinalizer(view)) : undefined
}

function removeFinalizer({ settings }: AttachmentView): DetachStep {
  return { kind: 'removeFinalizer', finalizer: settings.finalizer }
}

/**
 * Returns the node ID, in this order: the ID that this process published the volume to, the ID in the CSINode, the ID
 * in the annotation. Undefined if CSINode and annotation have no ID, even if this process has published the volume.
 */
function nodeIdOf({ publications, node, va }: AttachmentView, volumeId: string): string | undefined {
  const stored = nodeIdIn(node) ?? va.nodeId
  const latest = publications.findLast(({ request }) => request.volumeId === volumeId)
  return stored === undefined ? undefined : (latest?.request.nodeId ?? stored)
}
