import { invariant } from '@csi-sidecars/base'
import { checked, endPlan, next, type PlanCheckResult } from '@csi-sidecars/controller'
import type { CachedAttachment } from '../caches/attachment.ts'
import type { PublishRequest, PublishSource, UsableSource } from '../volumes/call-source.ts'
import { type AttachVolumeView, nodeFailureText } from '../volumes/volume-view.ts'
import type { AttachFacts, CallFacts } from './facts.ts'
import type { AttachmentView } from './observe.ts'
import { addFinalizerPatch, type PublishRecord } from './patches.ts'
import type { AttachObstacle, AttachStep, FailStep, LoadSecretStep } from './steps.ts'

/** The result of a check. The checks of an attach come first, in their order. A detach shares some of them. */
type AttachCheck = PlanCheckResult<AttachStep>

export function volumeIsDeleting({ view, pv }: AttachFacts): AttachCheck {
  if (pv?.deleting !== true) return undefined
  return endPlan(
    volumeFailure(view.volume, `PersistentVolume "${pv.key}" is marked for deletion`, 'PersistentVolumeDeleting'),
  )
}

export function volumeLacksFinalizer({ view, pv }: AttachFacts): AttachCheck {
  if (pv === undefined || pv.finalizers?.includes(view.settings.finalizer)) return undefined
  return next({ kind: 'addVolumeFinalizer', name: pv.key })
}

export function sourceIsUnknown({ view: { volume }, source }: CallFacts): PlanCheckResult<FailStep> {
  if (source.ok) return undefined
  const isMissing = volume.kind === 'pv' && volume.pv === undefined
  return endPlan(volumeFailure(volume, source.message, isMissing ? 'PersistentVolumeMissing' : undefined))
}

export function accessModesAreUnsupported({ view, modesError }: AttachFacts): AttachCheck {
  return modesError === undefined ? undefined : endPlan(volumeFailure(view.volume, modesError))
}

export function secretIsReferenced({ source }: Pick<CallFacts, 'source'>): PlanCheckResult<LoadSecretStep> {
  const ref = assertUsable(source).csi.controllerPublishSecretRef
  if (ref == null) return undefined
  return next({ kind: 'loadSecret', ref: { name: ref.name ?? '', namespace: ref.namespace ?? '' } })
}

export function csiNodeHasNoId({ view, nodeId }: AttachFacts): AttachCheck {
  return nodeId === undefined ? endPlan(nodeFailure(view)) : undefined
}

export function attachmentLacksFinalizer({ view, source, pv, nodeId }: AttachFacts): AttachCheck {
  const { va, settings } = view
  const record: PublishRecord = {
    nodeId: checked(nodeId),
    finalizer: settings.finalizer,
    ...(settings.recoverLostVolumes &&
      pv && { remember: { handle: assertUsable(source).csi.volumeHandle, uid: pv.uid } }),
  }
  return addFinalizerPatch(va, record) === undefined ? undefined : next({ kind: 'addFinalizer', ...record })
}

export function volumeMustBePublished({ view, source, nodeId, capability }: AttachFacts): AttachCheck {
  const { csi, migrated } = assertUsable(source)
  const request: PublishRequest = {
    volumeId: csi.volumeHandle,
    nodeId: checked(nodeId),
    volumeCapability: checked(capability),
    readonly: csi.readOnly === true && view.capabilities.publishReadonly,
    volumeContext: csi.volumeAttributes ?? {},
  }
  return endPlan({ kind: 'publish', request, migrated })
}

/** Returns a source that was checked before. Throws if it is not usable. */
export function assertUsable(source: PublishSource): UsableSource {
  invariant(source.ok, 'the source was checked')
  return source
}

/** Returns a failure whose key runs again at once if the volume is recreated or its access modes change. */
function volumeFailure(volume: AttachVolumeView, message: string, obstacle?: AttachObstacle): FailStep {
  const waitsFor = volume.kind === 'pv' ? ({ kind: 'volume', name: volume.name } as const) : undefined
  return { kind: 'fail', message, waitsFor, obstacle }
}

/** Returns the failure for a node without an ID: its CSINode is missing, or the driver does not run on the node. */
export function nodeFailure({ va, node, settings }: AttachmentView): FailStep {
  return {
    kind: 'fail',
    message: nodeFailureText(va.nodeName, node, settings.driverName),
    waitsFor: { kind: 'node', name: va.nodeName },
    obstacle: node.kind === 'noDriver' ? 'DriverNotOnNode' : 'CSINodeMissing',
  }
}

/** Reports whether the status has an outdated error. Called only if the driver's listing agrees with the status. */
export function hasStaleError(va: CachedAttachment, finalizer: string): boolean {
  if (va.attached === true) return va.attachError !== undefined
  const isDetached = va.deleting && !va.finalizers?.includes(finalizer)
  return isDetached && (va.detachError !== undefined || va.metadata !== undefined)
}
