import type { EventText } from '../claim/run.ts'

/** What users read about modifications in the events of a claim. Texts are those of the Go original. */
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
  failed,
  stillModifying: (message: string, className: string): EventText =>
    failed(`${message}. Still modifying to VAC ${className}`),
} as const

function failed(message: string): EventText {
  return { type: 'Warning', reason: 'VolumeModifyFailed', message }
}
