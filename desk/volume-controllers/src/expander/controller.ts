import { type Controller, enqueueOn, objectOf } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import { PERSISTENT_VOLUME_CLAIMS, referenceTo } from '@csi-sidecars/kube-types'
import type { Claim } from '../caches/claim.ts'
import { baseController, type ControllerParts, settledUnlessFailed } from '../control.ts'
import { decideExpand, hasGrown } from './decide.ts'

const WORKERS = 10

/** Records an event on each claim that an external controller must expand. */
export function expander(deps: ControllerParts): Controller {
  return {
    ...baseController('claim', deps),
    workers: WORKERS,
    sources: [enqueueOn(deps.caches.claims, grownClaims)],
    reconcile: (key) => settledUnlessFailed(expand(key, deps)),
  }
}

function grownClaims(event: InformerEvent<Claim>): string[] {
  if (event.type === 'deleted') return []
  const claim = objectOf(event)
  const counts = event.type === 'added' || hasGrown(event.before, event.after)
  return counts && claim.phase === 'Bound' ? [claim.key] : []
}

async function expand(key: string, deps: ControllerParts): Promise<void> {
  const { claims, volumes } = deps.caches
  const claim = claims.store.get(key)
  // A claim without a bound volume cannot be expanded, so no event is recorded.
  if (claim?.phase !== 'Bound') return
  const step = decideExpand({ claim, volume: volumes.store.get(claim.volumeName) })
  if (step?.kind === 'fail') throw new Error(step.message)
  if (step === undefined) return
  const event = { type: 'Normal', reason: 'ExternalExpanding', message: step.message } as const
  deps.recorder.event(referenceTo(PERSISTENT_VOLUME_CLAIMS, claim), event)
}
