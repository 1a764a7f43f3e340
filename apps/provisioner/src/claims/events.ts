import type { EventText } from '@csi-sidecars/events'

/** The events of a claim. The texts equal the texts of the Go original. */
export const CLAIM_EVENTS = {
  provisioning: (key: string): EventText => ({
    type: 'Normal',
    reason: 'Provisioning',
    message: `External provisioner is provisioning volume for claim "${key}"`,
  }),
  populator: (): EventText => ({
    type: 'Normal',
    reason: 'Provisioning',
    message: 'Assuming an external populator will provision the volume',
  }),
  succeeded: (volume: string): EventText => ({
    type: 'Normal',
    reason: 'ProvisioningSucceeded',
    message: `Successfully provisioned volume ${volume}`,
  }),
  infeasible: (message: string): EventText =>
    failed(`Volume provisioning failed with infeasible error. Retries will be delayed. ${message}`),
  failed,
} as const

function failed(message: string): EventText {
  return { type: 'Warning', reason: 'ProvisioningFailed', message }
}
