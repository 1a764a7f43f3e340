import type { EventText } from '@csi-sidecars/events'
import type { AttributesClass } from '../caches/open.ts'

/** The texts of the events about modifications. All equal the Go resizer's, except the text about the wrong driver. */
export const MODIFY_EVENTS = {
  started: (claimName: string, className: string): EventText => ({
    type: 'Normal',
    reason: 'VolumeModify',
    message: `external resizer is modifying volume ${claimName} with vac ${className}`,
  }),
  succeeded: (claimName: string, className: string): EventText => ({
    type: 'Normal',
    reason: 'VolumeModifySuccessful',
    message: `external resizer modified volume ${claimName} with vac ${className} successfully`,
  }),
  cancelled: (): EventText => ({ type: 'Normal', reason: 'VolumeModifyCanceled', message: 'Cancelled modify.' }),
  noClass: (className: string): EventText => failed(`VAC ${JSON.stringify(className)} does not exist.`),
  driverMismatch: ({ key, driverName }: AttributesClass, volumeDriver: string): EventText => ({
    type: 'Warning',
    reason: 'VolumeModifyDriverMismatch',
    message: `VAC ${JSON.stringify(key)} is for driver ${driverName}, and its parameters are applied to a volume of driver ${volumeDriver}`,
  }),
  unsupported: (className: string, driver: string): EventText =>
    failed(
      `VAC ${JSON.stringify(className)} cannot be applied: CSI driver ${driver} does not support ControllerModifyVolume.`,
    ),
  failed,
  stillModifying: (message: string, className: string): EventText =>
    failed(`${message}. Still modifying to VAC ${className}`),
} as const

function failed(message: string): EventText {
  return { type: 'Warning', reason: 'VolumeModifyFailed', message }
}
