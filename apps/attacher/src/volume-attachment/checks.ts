import { last, next, type PlanCheckResult, type WorkSubject } from '@csi-sidecars/controller'
import type { SecretRef } from '@csi-sidecars/sidecar'
import type { CachedAttachment } from '../caches/attachment.ts'
import { type PublishSource, usable } from '../volumes/call-source.ts'
import { type AttachVolumeView, nodeFailureText } from '../volumes/volume-view.ts'
import type { AttachmentView } from './observe.ts'
import type { AttachmentWakeEvent } from './wake-events.ts'

/** The reason why an attach or a detach waits for another object. */
export type AttachObstacle = Extract<
  WorkSubject['obstacle'],
  'PersistentVolumeMissing' | 'PersistentVolumeDeleting' | 'CSINodeMissing' | 'DriverNotOnNode'
>

/** Ends the plan: users see the message, and the key waits for its back-off or for `waitsFor`. */
export interface FailStep {
  readonly kind: 'fail'
  readonly message: string
  readonly waitsFor: AttachmentWakeEvent | undefined
  readonly obstacle: AttachObstacle | undefined
}

/** Reads the Secret for the call to the driver. */
export interface LoadSecretStep {
  readonly kind: 'loadSecret'
  readonly ref: SecretRef
}

/** The input of the checks: the observed state of an attachment, and the source of its volume. */
export interface CallFacts {
  readonly view: AttachmentView
  readonly source: PublishSource
}

export function sourceIsUnknown({ view: { volume }, source }: CallFacts): PlanCheckResult<FailStep> {
  if (source.ok) return undefined
  const isMissing = volume.kind === 'pv' && volume.pv === undefined
  return last(volumeFailure(volume, source.message, isMissing ? 'PersistentVolumeMissing' : undefined))
}

export function secretIsReferenced({ source }: Pick<CallFacts, 'source'>): PlanCheckResult<LoadSecretStep> {
  const ref = usable(source).csi.controllerPublishSecretRef
  if (ref == null) return undefined
  return next({ kind: 'loadSecret', ref: { name: ref.name ?? '', namespace: ref.namespace ?? '' } })
}

/** Returns a failure whose key runs again at once if the volume is recreated or its access modes change. */
export function volumeFailure(volume: AttachVolumeView, message: string, obstacle?: AttachObstacle): FailStep {
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
