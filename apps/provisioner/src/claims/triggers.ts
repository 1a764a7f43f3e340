import { type Cause, causesOf, type Source, type Trigger } from '@csi-sidecars/controller'
import type { Informer, InformerEvent } from '@csi-sidecars/informer'
import type { Claim } from '../caches/claim.ts'
import { type CachedNode, changesKeys, changesLabels, type Registration } from '../caches/cluster.ts'
import type { TopologyCaches } from '../caches/open.ts'
import type { AwaitedObjects } from './awaited.ts'
import { type DecisionSettings, isMarked, isOurs } from './decide.ts'
import type { ClaimMemory } from './memory.ts'

/** Keys are the UIDs of claims: a recreated claim is another claim. */
export function claimTrigger(settings: DecisionSettings, memory: ClaimMemory): Trigger<Claim> {
  return (event) => {
    if (event.type === 'deleted') return []
    // The run that has written it knows it.
    if (event.type === 'updated' && event.cause === 'own') return []
    const claim = event.type === 'added' ? event.object : event.after
    const { uid, wanted } = claim
    if (memory.follows(uid)) return [uid]
    return wanted !== undefined && (isOurs(claim, settings) || isMarked(claim, settings)) ? [uid] : []
  }
}

/** Deleted and bound claims have no pending work, unless a creation has to be followed up. */
export function endsOf(
  claims: Pick<Informer<Claim, never>, 'subscribe'>,
  { memory, awaited }: { readonly memory: ClaimMemory; readonly awaited: AwaitedObjects },
): Source {
  return (queue) =>
    claims.subscribe((event) => {
      if (event.type === 'added') return
      const { uid, wanted } = event.type === 'deleted' ? event.object : event.after
      if (event.type === 'updated' && wanted !== undefined) return
      memory.forget(uid)
      if (memory.follows(uid)) return
      awaited.forget(uid)
      queue.forget(uid)
    })
}

/** Claims wait for their node, or for any node. Most updates of nodes change no topology. */
export function causesOfTopology({ nodes, registrations }: TopologyCaches): readonly Source[] {
  return [
    causesOf(nodes, (event) => (changesLabels(event) ? causes(event) : [])),
    causesOf(registrations, (event) => (changesKeys(event) ? causes(event) : [])),
  ]
}

function causes(event: InformerEvent<CachedNode | Registration>): readonly Cause[] {
  const { key: name } = event.type === 'updated' ? event.after : event.object
  return [{ on: 'node', name }, { on: 'nodes' }]
}
