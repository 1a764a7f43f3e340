import { messageOf } from '@csi-sidecars/base'
import { type Controller, enqueueOn, type Outcome, SETTLED } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import { isNotFound } from '@csi-sidecars/kube-client'
import {
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  PODS,
  type Pod,
  referenceTo,
  refOf,
} from '@csi-sidecars/kube-types'
import { CLAIMS_BY_OWNER, PODS_BY_CLAIM } from '../caches/caches.ts'
import type { Claim } from '../caches/claim.ts'
import type { CachedPod } from '../caches/pod.ts'
import { baseController, type ControllerParts, except, settledUnlessFailed } from '../control.ts'
import { decideEphemeral, type EphemeralStep, isOrphan } from './decide.ts'

const WORKERS = 5

/**
 * Creates the claims of ephemeral volumes, and deletes them when their pod is gone. In Kubernetes, the garbage
 * collector deletes them.
 */
export function ephemeralVolumeControllers(deps: ControllerParts): readonly Controller[] {
  const { pods, claims } = deps.caches
  return [
    {
      ...baseController('pod', deps),
      workers: WORKERS,
      sources: [enqueueOn(pods, newPods), enqueueOn(claims, (event) => podsOfGone(event, deps))],
      reconcile: (key, { signal }) => reconcileEphemeral(key, deps, signal),
    },
    {
      ...baseController('claim', deps),
      workers: WORKERS,
      sources: [enqueueOn(claims, ownedClaims), enqueueOn(pods, (event) => claimsOfGone(event, deps))],
      reconcile: (key, { signal }) => settledUnlessFailed(collectOrphan(key, deps, signal)),
    },
  ]
}

function ownedClaims(event: InformerEvent<Claim>): string[] {
  return event.type === 'added' && event.object.ownerPod !== undefined ? [event.object.key] : []
}

function claimsOfGone(event: InformerEvent<CachedPod>, { caches }: ControllerParts): string[] {
  if (event.type !== 'deleted') return []
  return caches.claims.store.byIndex(CLAIMS_BY_OWNER, event.object.uid).map(({ key }) => key)
}

function newPods(event: InformerEvent<CachedPod>): string[] {
  return event.type === 'added' && hasOwnClaims(event.object) ? [event.object.key] : []
}

function podsOfGone(event: InformerEvent<Claim>, { caches }: ControllerParts): string[] {
  if (event.type !== 'deleted') return []
  const pods = caches.pods.store.byIndex(PODS_BY_CLAIM, event.object.key)
  return pods.filter(hasOwnClaims).map(({ key }) => key)
}

function hasOwnClaims({ volumes }: CachedPod): boolean {
  return volumes.some((volume) => volume.kind === 'claim' && volume.ephemeral)
}

async function reconcileEphemeral(key: string, deps: ControllerParts, signal: AbortSignal): Promise<Outcome> {
  const { pods, claims } = deps.caches
  const pod = pods.store.get(key)
  if (pod === undefined) return SETTLED
  const claim = (name: string): Claim | undefined => claims.store.get(`${pod.namespace}/${name}`)
  for (const step of decideEphemeral({ pod, claim })) {
    try {
      await perform(step, { pod, deps, signal })
    } catch (error) {
      signal.throwIfAborted()
      if (isNotFound(error)) return SETTLED
      const message = `ephemeral volume ${step.volume}: ${messageOf(error)}`
      deps.recorder.event(referenceTo(PODS, pod), { type: 'Warning', reason: 'FailedBinding', message })
      return { kind: 'retry', cause: error }
    }
  }
  return SETTLED
}

/**
 * Deletes a claim whose pod is gone. The API server must confirm this, because a cache may be late and a deletion is
 * final.
 */
async function collectOrphan(key: string, deps: ControllerParts, signal: AbortSignal): Promise<void> {
  const { client, caches } = deps
  const claim = caches.claims.store.get(key)
  if (claim?.ownerPod === undefined) return
  const ref = { namespace: claim.namespace, name: claim.ownerPod }
  if (caches.pods.store.get(`${ref.namespace}/${ref.name}`)?.uid === claim.ownerUid) return
  const owner = await except(isNotFound, client.get(PODS, ref, { signal }))
  if (isOrphan(claim, owner?.metadata?.uid)) await client.delete(PERSISTENT_VOLUME_CLAIMS, refOf(key), { signal })
}

interface Template {
  readonly pod: CachedPod
  readonly deps: ControllerParts
  readonly signal: AbortSignal
}

async function perform(step: EphemeralStep, { pod: { key, uid }, deps, signal }: Template): Promise<void> {
  const { client, caches } = deps
  if (step.kind === 'fail') throw new Error(step.message)
  const pod = await client.get(PODS, refOf(key), { signal })
  // A pod that was recreated under this name gets its claims when the event of its creation arrives.
  if (pod.metadata?.uid !== uid) return
  const claim = claimFor(pod, step)
  if (claim === undefined) return
  try {
    caches.claims.storeAnswer(await client.create(PERSISTENT_VOLUME_CLAIMS, claim, { signal }))
  } catch (error) {
    throw new Error(`create PVC ${step.claim}: ${messageOf(error)}`, { cause: error })
  }
}

function claimFor(
  { metadata, spec }: Pod,
  { volume, claim: name }: Extract<EphemeralStep, { kind: 'create' }>,
): PersistentVolumeClaim | undefined {
  const template = spec?.volumes?.find((each) => each.name === volume)?.ephemeral?.volumeClaimTemplate
  if (template === undefined || template === null) return undefined
  const { name: pod = '', uid = '', namespace } = metadata ?? {}
  const owner = { apiVersion: 'v1', kind: 'Pod', name: pod, uid, controller: true, blockOwnerDeletion: true }
  const { annotations, labels } = template.metadata ?? {}
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name,
      ...(namespace && { namespace }),
      ownerReferences: [owner],
      ...(annotations && { annotations }),
      ...(labels && { labels }),
    },
    spec: template.spec,
  }
}
