import type { EventText } from '@csi-sidecars/events'
import { PERSISTENT_VOLUME_CLAIMS, referenceTo } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import type { ResizerClaimDeps, ResizerClaimRun } from './run.ts'

/** Records an event about the claim. */
export function recordEvent({ deps }: ResizerClaimRun<ResizerClaimDeps>, claim: ResizerClaim, text: EventText): void {
  deps.recorder.event(referenceTo(PERSISTENT_VOLUME_CLAIMS, claim), text)
}
