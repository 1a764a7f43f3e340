import type { WorkSubject } from '@csi-sidecars/controller'
import type { SecretRef } from '@csi-sidecars/sidecar'
import type { PublishRequest, UnpublishRequest } from '../volumes/call-source.ts'
import type { PublishRecord } from './patches.ts'
import type { AttachmentWakeEvent } from './wake-events.ts'

export type AttachStep =
  /** Adds our finalizer to the PersistentVolume. The later steps are decided again after this step. */
  | { readonly kind: 'addVolumeFinalizer'; readonly name: string }
  | LoadSecretStep
  | ({ readonly kind: 'addFinalizer' } & PublishRecord)
  | { readonly kind: 'publish'; readonly request: PublishRequest; readonly migrated: boolean }
  | FailStep

export type DetachStep =
  | LoadSecretStep
  | FailStep
  | {
      readonly kind: 'unpublish'
      readonly request: UnpublishRequest
      readonly migrated: boolean
      /** True if the PersistentVolume is gone. The request then comes from annotations. */
      readonly isVolumeLost?: true
    }
  /** The cache may lag: the API server must confirm that the PersistentVolume is gone. */
  | { readonly kind: 'confirmVolumeIsGone'; readonly name: string }
  /** The handle of the attached volume is unknown. The detach waits for a change of its PersistentVolume. */
  | {
      readonly kind: 'block'
      readonly message: string
      readonly waitsFor: AttachmentWakeEvent
      readonly obstacle: AttachObstacle | undefined
    }
  /** Removes our finalizer before the status is written: until then, `attached: false` means "maybe published". */
  | { readonly kind: 'removeFinalizer'; readonly finalizer: string }
  /** The volume is already detached, and only the status may still have to be written. */
  | { readonly kind: 'markDetached' }

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
