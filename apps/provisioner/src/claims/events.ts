import type { EventText } from '@csi-sidecars/events'
import { PERSISTENT_VOLUME_CLAIMS, referenceTo } from '@csi-sidecars/kube-types'
import type { ProvisionerClaim } from '../caches/claim.ts'
import type { ClaimRun } from './run.ts'

/** The events of a claim. Their reasons are those of the Go provisioner. Only NodeWithoutDriver is ours. */
export const CLAIM_EVENTS = {
  provisioning: (key: string): EventText => ({
    type: 'Normal',
    reason: 'Provisioning',
    message: `External provisioner is provisioning volume for claim "${key}"`,
    replaceable: true,
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
  orphaned: (volume: string, driver: string, why: string): EventText => {
    const message = `${why}. The claim is deleted, and the creation of its volume is given up.`
    return failed(`${message} The volume ${volume} may be orphaned in the back end of ${driver}: look for it there`)
  },
  rescheduled: (why: string): EventText => ({
    type: 'Warning',
    reason: 'NodeWithoutDriver',
    message: `${why}, so the claim waits for another node`,
  }),
  failed,
} as const

function failed(message: string): EventText {
  return { type: 'Warning', reason: 'ProvisioningFailed', message }
}

/** Records an event about the claim. */
export function recordEvent({ deps }: Pick<ClaimRun, 'deps'>, claim: ProvisionerClaim, text: EventText): void {
  deps.recorder.event(referenceTo(PERSISTENT_VOLUME_CLAIMS, claim), text)
}

/** Records the event unless it repeats the last event about the claim. */
export function recordEventOnce(run: Pick<ClaimRun, 'deps'>, claim: ProvisionerClaim, text: EventText): void {
  if (run.deps.memory.shouldRecord(claim.uid, text.message)) recordEvent(run, claim, text)
}
