import type { ControllerPublishVolumeRequest, ControllerUnpublishVolumeRequest } from '@csi-sidecars/csi-proto'

/** Calls as they are decided: the secrets are read for each call, and kept nowhere. */
export type PublishRequest = Omit<ControllerPublishVolumeRequest, 'secrets'>
export type UnpublishRequest = Omit<ControllerUnpublishVolumeRequest, 'secrets'>

export interface SecretRef {
  readonly name: string
  readonly namespace: string
}
