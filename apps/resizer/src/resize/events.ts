import type { EventText } from '@csi-sidecars/events'

/** The texts of the events about expansions. All equal the Go resizer's. */
export const RESIZE_EVENTS = {
  started: (volumeName: string): EventText => ({
    type: 'Normal',
    reason: 'Resizing',
    message: `External resizer is resizing volume ${volumeName}`,
  }),
  nodeStepRequired: (): EventText => ({
    type: 'Normal',
    reason: 'FileSystemResizeRequired',
    message: 'Require file system resize of volume on node',
  }),
  succeeded: (): EventText => ({
    type: 'Normal',
    reason: 'VolumeResizeSuccessful',
    message: 'Resize volume succeeded',
  }),
  inUse: (key: string, driverName: string): EventText =>
    failed(
      `Unable to expand ${key} because CSI driver ${driverName} only supports offline expansion and volume is currently in-use`,
    ),
  failed,
} as const

function failed(message: string): EventText {
  return { type: 'Warning', reason: 'VolumeResizeFailed', message }
}
