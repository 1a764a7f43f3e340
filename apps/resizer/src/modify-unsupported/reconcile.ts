import { type EventDeduplicator, type Outcome, type Run, SETTLED } from '@csi-sidecars/controller'
import type { Recorder } from '@csi-sidecars/events'
import type { Reader } from '@csi-sidecars/informer'
import { PERSISTENT_VOLUME_CLAIMS, referenceTo } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import { MODIFY_EVENTS } from '../modify/events.ts'
import { decideUnsupported, type UnsupportedWakeKind } from './decide.ts'

/** Everything that a run needs to warn about a class that the driver cannot apply. */
export interface UnsupportedDeps {
  readonly claims: Pick<Reader<ResizerClaim>, 'get'>
  readonly volumes: Pick<Reader<ResizerVolume>, 'get'>
  /** The events about classes that the driver cannot apply, by claim UID. */
  readonly events: EventDeduplicator
  readonly recorder: Pick<Recorder, 'event'>
  readonly driverName: string
}

/** Decides the next steps of a claim whose driver cannot modify volumes, and performs them. */
export async function reconcileUnsupported(
  key: string,
  { claims, volumes, events, recorder, driverName }: UnsupportedDeps,
  run: Run<UnsupportedWakeKind>,
): Promise<Outcome> {
  run.stopWaiting()
  const claim = claims.get(key)
  if (claim === undefined) return SETTLED
  for (const step of decideUnsupported({ claim, volume: volumes.get(claim.volumeName) })) {
    run.waitFor(step.waitsFor)
    if (step.kind !== 'report') continue
    const event = MODIFY_EVENTS.unsupported(step.className, driverName)
    if (events.shouldRecord(claim.uid, event.message)) {
      recorder.event(referenceTo(PERSISTENT_VOLUME_CLAIMS, claim), event)
    }
  }
  return SETTLED
}
