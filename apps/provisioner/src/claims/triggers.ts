import { bringsNews, objectOf, type Source, type Trigger, wakeOn } from '@csi-sidecars/controller'
import { PARAMETER_VALUES } from '@csi-sidecars/csi'
import type { Cached, Informer, InformerEvent } from '@csi-sidecars/informer'
import type { ProvisionerClaim } from '../caches/claim.ts'
import { changesKeys, changesLabels } from '../caches/cluster.ts'
import { CLONE_FINALIZER } from '../caches/names.ts'
import type { TopologyCaches } from '../caches/open.ts'
import { type ProvisionerVolume, withoutOurFinalizer } from '../caches/volume.ts'
import type { ClaimWakeEvent } from '../request/wake-events.ts'
import { type DecisionSettings, hasOurFinalizer, isOurs } from './decide.ts'
import type { ClaimMemory } from './memory.ts'

/** Enqueues claims by UID, so that a recreated claim is not mistaken for the deleted claim. */
export function claimTrigger(settings: DecisionSettings, memory: ClaimMemory): Trigger<ProvisionerClaim> {
  return (event) => {
    if (event.type === 'deleted' || !bringsNews(event, (claim) => withoutOurFinalizers(claim, settings))) return []
    const claim = objectOf(event)
    const { uid } = claim
    return memory.mayCallStillRun(uid) || isOurs(claim, settings) || hasOurFinalizer(claim, settings) ? [uid] : []
  }
}

/**
 * Returns the claim without the finalizers and the annotation that this process writes: each try of CreateVolume may write
 * them, and must not end its own back-off.
 */
export function withoutOurFinalizers(
  claim: ProvisionerClaim,
  { claimFinalizer }: Pick<DecisionSettings, 'claimFinalizer'>,
): ProvisionerClaim {
  const others = claim.finalizers?.filter((name) => name !== claimFinalizer && name !== CLONE_FINALIZER)
  const { [PARAMETER_VALUES]: _, ...annotations } = claim.requestedVolume?.annotations ?? {}
  const requestedVolume = claim.requestedVolume && { ...claim.requestedVolume, annotations }
  return { ...claim, requestedVolume, finalizers: others?.length ? others : undefined }
}

/** Forgets a deleted or bound claim, unless a CreateVolume call for it may be running. */
export function forgetEndedClaims(
  claims: Pick<Informer<ProvisionerClaim, never>, 'subscribe'>,
  memory: ClaimMemory,
): Source {
  return (queue) =>
    claims.subscribe((event) => {
      if (event.type === 'added') return
      const { uid, requestedVolume } = event.type === 'deleted' ? event.object : event.after
      if (event.type === 'updated' && requestedVolume !== undefined) return
      memory.forget(uid)
      if (!memory.mayCallStillRun(uid)) queue.forget(uid)
    })
}

/** Wakes claims that wait for another claim, for example for the source of a clone. */
export function wakesOnClaim(settings: DecisionSettings) {
  return (event: InformerEvent<ProvisionerClaim>): readonly ClaimWakeEvent<'claim'>[] => {
    const hasNews = bringsNews(event, (claim) => withoutOurFinalizers(claim, settings))
    return hasNews ? [{ kind: 'claim', name: objectOf(event).key }] : []
  }
}

/** Wakes claims that wait for a PersistentVolume. */
export function wakesOnVolume(event: InformerEvent<ProvisionerVolume>): readonly ClaimWakeEvent<'volume'>[] {
  return bringsNews(event, withoutOurFinalizer) ? [{ kind: 'volume', name: objectOf(event).key }] : []
}

/** Wakes claims that wait for their node, when the labels or the topology keys of the node change. */
export function selectedNodeSource({ nodes, registrations }: TopologyCaches): Source<'node'> {
  const wake = (event: InformerEvent<Cached>) => [{ kind: 'node', name: objectOf(event).key } as const]
  return topologySource({ nodes, registrations }, wake)
}

/** Wakes claims that wait for any node, when the labels or the topology keys of a node change. */
export function anyNodeSource({ nodes, registrations }: TopologyCaches): Source<'nodes'> {
  return topologySource({ nodes, registrations }, () => [{ kind: 'nodes' }])
}

function topologySource<K extends 'node' | 'nodes'>(
  { nodes, registrations }: TopologyCaches,
  wakes: (event: InformerEvent<Cached>) => readonly ClaimWakeEvent<K>[],
): Source<K> {
  const ofNodes = wakeOn(nodes, (event) => (changesLabels(event) ? wakes(event) : []))
  const ofRegistrations = wakeOn(registrations, (event) => (changesKeys(event) ? wakes(event) : []))
  return (queue) => {
    const stops = [ofNodes(queue), ofRegistrations(queue)]
    return () => {
      for (const stop of stops) stop()
    }
  }
}
