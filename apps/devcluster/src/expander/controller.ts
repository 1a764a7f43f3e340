import { unreachable } from '@csi-sidecars/base'
import { keysOf, type Outcome, type Run, SETTLED } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import { isNotFound } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { STORAGE_RESIZER } from '../caches/annotations.ts'
import type { Claim } from '../caches/claim.ts'
import { type ControllerParts, type Life, refOf, runWorks, targetOf } from '../control.ts'
import { decideExpand, type ExpandStep, hasGrown } from './decide.ts'

const WORKERS = 10

/** Says of each claim that is to grow who is waited for. */
export async function runExpander(parts: ControllerParts, life: Life): Promise<void> {
  const sources = [keysOf(parts.caches.claims, grownClaims)]
  const reconcile = (key: string, { signal }: Run): Promise<Outcome> => reconcileExpand(key, parts, signal)
  await runWorks([{ of: 'claim', workers: WORKERS, sources, reconcile }], parts, life)
}

function grownClaims(event: InformerEvent<Claim>): string[] {
  if (event.type === 'deleted') return []
  const claim = event.type === 'updated' ? event.after : event.object
  const counts = event.type === 'added' || hasGrown(event.before, event.after)
  return counts && claim.phase === 'Bound' ? [claim.key] : []
}

async function reconcileExpand(key: string, parts: ControllerParts, signal: AbortSignal): Promise<Outcome> {
  const { claims, volumes } = parts.caches
  const claim = claims.store.get(key)
  // One that has lost its volume meanwhile is nobody's to expand.
  if (claim?.phase !== 'Bound') return SETTLED
  try {
    const steps = decideExpand({ claim, volume: volumes.store.get(claim.volumeName) })
    for (const step of steps) await perform(step, claim, parts, signal)
    return SETTLED
  } catch (error) {
    signal.throwIfAborted()
    return isNotFound(error) ? SETTLED : { kind: 'retry', cause: error }
  }
}

async function perform(step: ExpandStep, claim: Claim, parts: ControllerParts, signal: AbortSignal): Promise<void> {
  const { client, caches, recorder } = parts
  switch (step.do) {
    case 'tell':
      recorder.event(targetOf(PERSISTENT_VOLUME_CLAIMS, claim), 'Normal', 'ExternalExpanding', step.message)
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
