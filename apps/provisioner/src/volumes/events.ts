import type { EventText } from '@csi-sidecars/events'

/** The events of a PersistentVolume. The texts equal the texts of the Go provisioner. */
export const VOLUME_EVENTS = {
  inUse: (message: string): EventText => ({ type: 'Normal', reason: 'VolumeDelete', message }),
  failed: (message: string): EventText => ({ type: 'Warning', reason: 'VolumeFailedDelete', message }),
} as const
