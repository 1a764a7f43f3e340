import { bringsNews, type Cause, causesOf, objectOf, type Source, type Trigger } from '@csi-sidecars/controller'
import type { Informer, InformerEvent } from '@csi-sidecars/informer'
import type { ProvisionerClaim } from '../caches/claim.ts'
import { changesKeys, changesLabels, type ProvisionerNode, type Registration } from '../caches/cluster.ts'
import { CLONE_FINALIZER } from '../caches/names.ts'
import type { TopologyCaches } from '../caches/open.ts'
import { withoutOurFinalizer } from '../caches/volume.ts'
import type { TermParts } from '../parts.ts'
import { type DecisionSettings, isMarked, isOurs } from './decide.ts'
import type { ClaimMemory } from './memory.ts'

/** Enqueues claims by UID, so that a recreated claim is not mistaken for the deleted claim. */
export function claimTrigger(settings: DecisionSettings, memory: ClaimMemory): Trigger<ProvisionerClaim> {
  return (event) => {
    if (event.type === 'deleted' || !bringsNews(event, (claim) => withoutOurFinalizers(claim, settings))) return []
    const claim = objectOf(event)
    const { uid, wanted } = claim
    if (memory.follows(uid)) return [uid]
    return wanted !== undefined && (isOurs(claim, settings) || isMarked(claim, settings)) ? [uid] : []
  }
}

/**
 * Returns the claim without the finalizers that this process writes: each try of CreateVolume may write them twice, and
 * must not end its own back-off.
 */
export function withoutOurFinalizers(
  claim: ProvisionerClaim,
  { claimFinalizer }: Pick<DecisionSettings, 'claimFinalizer'>,
): ProvisionerClaim {
  const others = claim.finalizers?.filter((name) => name !== claimFinalizer && name !== CLONE_FINALIZER)
  return { ...claim, finalizers: others?.length ? others : undefined }
}

/** Forgets a deleted or bound claim, unless a CreateVolume call for it may be running. */
export function endsOf(claims: Pick<Informer<ProvisionerClaim, never>, 'subscribe'>, memory: ClaimMemory): Source {
  return (queue) =>
    claims.subscribe((event) => {
      if (event.type === 'added') return
      const { uid, wanted } = event.type === 'deleted' ? event.object : event.after
      if (event.type === 'updated' && wanted !== undefined) return
      memory.forget(uid)
      if (!memory.follows(uid)) queue.forget(uid)
    })
}

/** Wakes claims that wait for a claim or a PersistentVolume, for example for the source of a clone. */
export function causesOfSources(
  { claims, volumes }: Pick<TermParts, 'claims' | 'volumes'>,
  settings: DecisionSettings,
): readonly Source[] {
  return [
    causesOf(claims, (event) =>
      bringsNews(event, (claim) => withoutOurFinalizers(claim, settings))
        ? [{ on: 'claim', name: objectOf(event).key }]
        : [],
    ),
    causesOf(volumes, (event) =>
      bringsNews(event, withoutOurFinalizer) ? [{ on: 'volume', name: objectOf(event).key }] : [],
    ),
  ]
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
