import { type Cause, causesOf, objectOf, type Source, type Trigger } from '@csi-sidecars/controller'
import type { Informer, InformerEvent } from '@csi-sidecars/informer'
import type { ProvisionerClaim } from '../caches/claim.ts'
import { changesKeys, changesLabels, type ProvisionerNode, type Registration } from '../caches/cluster.ts'
import type { TopologyCaches } from '../caches/open.ts'
import type { AwaitedObjects } from './awaited.ts'
import { type DecisionSettings, isMarked, isOurs } from './decide.ts'
import type { ClaimMemory } from './memory.ts'

/** Enqueues claims by UID, so that a recreated claim is not mistaken for the deleted claim. */
export function claimTrigger(settings: DecisionSettings, memory: ClaimMemory): Trigger<ProvisionerClaim> {
  return (event) => {
    if (event.type === 'deleted') return []
    // A change by this process needs no new run: the run that wrote the change continues by itself.
    if (event.type === 'updated' && event.cause === 'own') return []
    const claim = event.type === 'added' ? event.object : event.after
    const { uid, wanted } = claim
    if (memory.follows(uid)) return [uid]
    return wanted !== undefined && (isOurs(claim, settings) || isMarked(claim, settings)) ? [uid] : []
  }
}

/** Forgets a deleted or bound claim, unless a CreateVolume call for it may be running. */
export function endsOf(
  claims: Pick<Informer<ProvisionerClaim, never>, 'subscribe'>,
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

/** Wakes claims that wait for nodes, when the labels or the topology keys of a node change. */
export function causesOfTopology({ nodes, registrations }: TopologyCaches): readonly Source[] {
  return [
    causesOf(nodes, (event) => (changesLabels(event) ? causes(event) : [])),
    causesOf(registrations, (event) => (changesKeys(event) ? causes(event) : [])),
  ]
}

function causes(event: InformerEvent<ProvisionerNode | Registration>): readonly Cause[] {
  return [{ on: 'node', name: objectOf(event).key }, { on: 'nodes' }]
}
