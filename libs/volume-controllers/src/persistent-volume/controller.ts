import { type Controller, KeyFeed, keysOf, objectOf, presentKey, type Source } from '@csi-sidecars/controller'
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
import { volumeOfScrubber } from './scrubber.ts'

/** One worker each, as in kube-controller-manager: two claims must not be promised the same volume. */
const WORKERS = 1

export interface PersistentVolumeOptions {
  /** How often everything is looked at again. */
  readonly resyncMs?: number | undefined
  readonly recordsUnused?: boolean
}

const RESYNC_MS = 15_000

/** Binds claims to volumes, keeps their phases, and protects what is in use. */
export function persistentVolumeControllers(
  parts: ControllerParts,
  { resyncMs = RESYNC_MS, recordsUnused = false }: PersistentVolumeOptions = {},
): readonly Controller[] {
  const { caches, clock } = parts
  const requested = new KeyFeed()
  const volumeParts = {
    ...parts,
    lookAtClaim: (key: string) => requested.add(key),
    scrubbers: new Map<string, string>(),
  }
  const resync = (cache: Informer<Cached>): Source =>
    periodicKeys(clock, resyncMs, () => [...cache.store.values()].map(({ key }) => key))
  return [
    {
      ...baseController('PersistentVolumeClaim', parts),
      workers: WORKERS,
      sources: [
        requested.source,
        keysOf(caches.claims, presentKey),
        keysOf(caches.volumes, (event) => claimsOfVolume(event, caches)),
        keysOf(caches.classes, (event) => claimsOfClass(event, (name) => claimsWaitingFor(name, caches))),
        keysOf(caches.pods, claimsOfNewPod),
        resync(caches.claims),
      ],
      reconcile: (key, { signal }) => reconcileClaim(key, parts, signal),
    },
    {
      ...baseController('PersistentVolume', parts),
      workers: WORKERS,
      sources: [
        keysOf(caches.claims, (event) => volumesOfClaim(event, caches)),
        keysOf(caches.volumes, presentKey),
        keysOf(caches.pods, volumesOfPod),
        resync(caches.volumes),
      ],
      reconcile: (key, { signal }) => reconcileVolume(key, volumeParts, signal),
    },
    ...protectionControllers(parts, { recordsUnused }),
  ]
}

/**
 * A change or deletion of a claim may change its volume's phase. One deleted before its half of the binding was written
 * names no volume, but the volume names it.
 */
function volumesOfClaim(event: InformerEvent<Claim>, { volumes }: Caches): string[] {
  const { key, volumeName } = objectOf(event)
  const named = volumeName === '' ? [] : [volumeName]
  if (event.type !== 'deleted') return named
  return [...named, ...volumes.store.byIndex(VOLUMES_BY_CLAIM, key).map((volume) => volume.key)]
}

/** The claim that a volume is for; and when it is free, all claims that name it or wait for one of its class. */
function claimsOfVolume(event: InformerEvent<Volume>, caches: Caches): string[] {
  const { key, claimRef, className, phase } = objectOf(event)
  if (claimRef !== undefined) return [claimKeyOf(claimRef)]
  if (event.type === 'deleted') return []
  const naming = caches.claims.store.byIndex(CLAIMS_BY_VOLUME, key).map((claim) => claim.key)
  return phase === 'Available' ? [...naming, ...claimsWaitingFor(className, caches)] : naming
}

/** The volume that the pod scrubs. */
function volumesOfPod(event: InformerEvent<CachedPod>): string[] {
  const volume = volumeOfScrubber(objectOf(event))
  return volume === undefined ? [] : [volume]
}

/** A class that comes late is a cause to look again; so is a default for claims that asked for none. */
function claimsOfClass(event: InformerEvent<CachedClass>, waiting: (className: string) => string[]): string[] {
  if (event.type === 'deleted') return []
  const { key, isDefault } = objectOf(event)
  return [...waiting(key), ...(isDefault ? waiting('') : [])]
}

/** A claim that waits for its first consumer names it in its event. */
function claimsOfNewPod(event: InformerEvent<CachedPod>): string[] {
  return event.type === 'added' && event.object.nodeName === '' ? claimKeysOf(event.object) : []
}
