import { unreachable } from '@csi-sidecars/base'
import { type Controller, keysOf, objectOf } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import { PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { STORAGE_RESIZER } from '../caches/annotations.ts'
import type { Claim } from '../caches/claim.ts'
import { baseController, type ControllerParts, refOf, settledUnlessFailed, targetOf } from '../control.ts'
import { decideExpand, type ExpandStep, hasGrown } from './decide.ts'

const WORKERS = 10

/** Records on each growing claim which component expands it. */
export function expander(parts: ControllerParts): Controller {
  return {
    ...baseController('claim', parts),
    workers: WORKERS,
    sources: [keysOf(parts.caches.claims, grownClaims)],
    reconcile: (key, { signal }) => settledUnlessFailed(expand(key, parts, signal)),
  }
}

function grownClaims(event: InformerEvent<Claim>): string[] {
  if (event.type === 'deleted') return []
  const claim = objectOf(event)
  const counts = event.type === 'added' || hasGrown(event.before, event.after)
  return counts && claim.phase === 'Bound' ? [claim.key] : []
}

async function expand(key: string, parts: ControllerParts, signal: AbortSignal): Promise<void> {
  const { claims, volumes } = parts.caches
  const claim = claims.store.get(key)
  // A claim without a bound volume cannot be expanded.
  if (claim?.phase !== 'Bound') return
  const steps = decideExpand({ claim, volume: volumes.store.get(claim.volumeName) })
  for (const step of steps) await perform(step, { claim, parts, signal })
}

interface Expansion {
  readonly claim: Claim
  readonly parts: ControllerParts
  readonly signal: AbortSignal
}

async function perform(step: ExpandStep, { claim, parts, signal }: Expansion): Promise<void> {
  const { client, caches, recorder } = parts
  switch (step.do) {
    case 'report':
      recorder.event(targetOf(PERSISTENT_VOLUME_CLAIMS, claim), {
        type: 'Normal',
        reason: 'ExternalExpanding',
        message: step.message,
      })
      return
    case 'nameResizer': {
      const body = { metadata: { uid: claim.uid, annotations: { [STORAGE_RESIZER]: step.driver } } }
      const patch = { kind: 'merge' as const, body }
      caches.claims.learn(await client.patch(PERSISTENT_VOLUME_CLAIMS, refOf(claim.key), patch, { signal }))
      return
    }
    case 'fail':
      throw new Error(step.message)
    default:
      unreachable(step)
  }
}
