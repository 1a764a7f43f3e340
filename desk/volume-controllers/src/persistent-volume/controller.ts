import { type Controller, enqueueOn, KeyFeed, objectOf, presentKey, type Source } from '@csi-sidecars/controller'
import type { Cached, Informer, InformerEvent } from '@csi-sidecars/informer'
import { type Caches, CLAIMS_BY_VOLUME, VOLUMES_BY_CLAIM } from '../caches/caches.ts'
import type { Claim } from '../caches/claim.ts'
import type { CachedPod } from '../caches/pod.ts'
import { claimKeysOf } from '../caches/pod.ts'
import type { CachedClass } from '../caches/storage.ts'
import { claimKeyOf, type Volume } from '../caches/volume.ts'
import { baseController, type ControllerParts, periodicKeys } from '../control.ts'
import { protectionControllers } from './protect.ts'
import { claimsWaitingFor, reconcileClaim, reconcileVolume } from './reconcile.ts'

/** One worker for each controller, as in kube-controller-manager, so that two claims never get the same volume. */
const WORKERS = 1

/** The options of the controller that binds claims to PersistentVolumes. */
export interface PersistentVolumeOptions {
  /** The interval at which all claims and volumes are checked. Default: 15 seconds. */
  readonly resyncMs?: number | undefined
  /** True if claims get the condition `Unused`. Default: false. */
  readonly recordsUnused?: boolean
}

const RESYNC_MS = 15_000

/** Binds claims to volumes, updates their phases, and protects volumes and claims in use. */
export function persistentVolumeControllers(
  deps: ControllerParts,
  { resyncMs = RESYNC_MS, recordsUnused = false }: PersistentVolumeOptions = {},
): readonly Controller[] {
  const { caches, clock } = deps
  const requested = new KeyFeed()
  const volumeParts = { ...deps, lookAtClaim: (key: string) => requested.add(key) }
  const resync = (cache: Informer<Cached>): Source =>
    periodicKeys(clock, resyncMs, () => [...cache.store.values()].map(({ key }) => key))
  return [
    {
      ...baseController('PersistentVolumeClaim', deps),
      workers: WORKERS,
      sources: [
        requested.source,
        enqueueOn(caches.claims, presentKey),
        enqueueOn(caches.volumes, (event) => claimsOfVolume(event, caches)),
        enqueueOn(caches.classes, (event) => claimsOfClass(event, (name) => claimsWaitingFor(name, caches))),
        enqueueOn(caches.pods, claimsOfNewPod),
        resync(caches.claims),
      ],
      reconcile: (key, { signal }) => reconcileClaim(key, deps, signal),
    },
    {
      ...baseController('PersistentVolume', deps),
      workers: WORKERS,
      sources: [
        enqueueOn(caches.claims, (event) => volumesOfClaim(event, caches)),
        enqueueOn(caches.volumes, presentKey),
        resync(caches.volumes),
      ],
      reconcile: (key, { signal }) => reconcileVolume(key, volumeParts, signal),
    },
    ...protectionControllers(deps, { recordsUnused }),
  ]
}

/** Returns the volumes whose phase may depend on a claim. A deleted claim may affect all volumes that refer to it. */
function volumesOfClaim(event: InformerEvent<Claim>, { volumes }: Caches): string[] {
  const { key, volumeName } = objectOf(event)
  const named = volumeName === '' ? [] : [volumeName]
  if (event.type !== 'deleted') return named
  return [...named, ...volumes.store.byIndex(VOLUMES_BY_CLAIM, key).map((volume) => volume.key)]
}

/** Returns the claim of a volume, or for a free volume the claims that name it or wait for its class. */
function claimsOfVolume(event: InformerEvent<Volume>, caches: Caches): string[] {
  const { key, claimRef, className, phase } = objectOf(event)
  if (claimRef !== undefined) return [claimKeyOf(claimRef)]
  if (event.type === 'deleted') return []
  const naming = caches.claims.store.byIndex(CLAIMS_BY_VOLUME, key).map((claim) => claim.key)
  return phase === 'Available' ? [...naming, ...claimsWaitingFor(className, caches)] : naming
}

/** Returns the claims that wait for a class. If the class is the default, claims without a class are included. */
function claimsOfClass(event: InformerEvent<CachedClass>, waiting: (className: string) => string[]): string[] {
  if (event.type === 'deleted') return []
  const { key, isDefault } = objectOf(event)
  return [...waiting(key), ...(isDefault ? waiting('') : [])]
}

/** Returns the claims of a new unscheduled pod, because the event on a waiting claim names its pods. */
function claimsOfNewPod(event: InformerEvent<CachedPod>): string[] {
  return event.type === 'added' && event.object.nodeName === '' ? claimKeysOf(event.object) : []
}
