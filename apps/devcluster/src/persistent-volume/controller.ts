import { feed } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import { type Caches, VOLUMES_BY_CLAIM } from '../caches/caches.ts'
import type { Claim } from '../caches/claim.ts'
import type { CachedPod } from '../caches/pod.ts'
import { claimKeysOf } from '../caches/pod.ts'
import type { CachedClass } from '../caches/storage.ts'
import { claimKeyOf, type Volume } from '../caches/volume.ts'
import { type ControllerParts, type Life, newQueue, work } from '../control.ts'
import { runProtection } from './protect.ts'
import { claimsWaitingFor, reconcileClaim, reconcileVolume } from './reconcile.ts'

/** One worker each, as in kube-controller-manager: two claims must not be promised the same volume. */
const WORKERS = 1

/** Binds claims to volumes, keeps their phases, and protects what is in use. */
export async function runPersistentVolumeController(parts: ControllerParts, life: Life): Promise<void> {
  const { caches, clock, log } = parts
  const claims = newQueue(clock)
  const volumes = newQueue(clock)
  const undo = [
    feed(caches.claims, claimKeys, claims),
    feed(caches.claims, (event) => volumesOfClaim(event, caches), volumes),
    feed(caches.volumes, volumeKeys, volumes),
    feed(caches.volumes, (event) => claimsOfVolume(event, (name) => claimsWaitingFor(name, caches)), claims),
    feed(caches.classes, (event) => claimsOfClass(event, (name) => claimsWaitingFor(name, caches)), claims),
    feed(caches.pods, claimsOfNewPod, claims),
  ]
  const lookAtClaim = (key: string): void => claims.add(key)
  try {
    await Promise.all([
      work(
        {
          queue: claims,
          workers: WORKERS,
          reconcile: (key, cut) => reconcileClaim(key, parts, cut),
          log,
          what: 'PersistentVolumeClaim',
        },
        life,
      ),
      work(
        {
          queue: volumes,
          workers: WORKERS,
          reconcile: (key, cut) => reconcileVolume(key, { ...parts, lookAtClaim }, cut),
          log,
          what: 'PersistentVolume',
        },
        life,
      ),
      runProtection(parts, life),
    ])
  } finally {
    for (const each of undo) each()
  }
}

function claimKeys(event: InformerEvent<Claim>): string[] {
  return event.type === 'deleted' ? [] : [latest(event).key]
}

/**
 * A claim that changed or went may change its volume's phase. One that went before its half of the binding was written
 * names no volume, but the volume names it.
 */
function volumesOfClaim(event: InformerEvent<Claim>, { volumes }: Caches): string[] {
  const { key, volumeName } = latest(event)
  const named = volumeName === '' ? [] : [volumeName]
  if (event.type !== 'deleted') return named
  return [...named, ...volumes.store.byIndex(VOLUMES_BY_CLAIM, key).map((volume) => volume.key)]
}

function volumeKeys(event: InformerEvent<Volume>): string[] {
  return event.type === 'deleted' ? [] : [latest(event).key]
}

/** The claim that a volume is for; and when it has become free, all claims that wait for one of its class. */
function claimsOfVolume(event: InformerEvent<Volume>, waiting: (className: string) => string[]): string[] {
  const { claimRef, className, phase } = latest(event)
  if (claimRef !== undefined) return [claimKeyOf(claimRef)]
  return event.type !== 'deleted' && phase === 'Available' ? waiting(className) : []
}

/** A class that comes late is a cause to look again; so is a default for claims that asked for none. */
function claimsOfClass(event: InformerEvent<CachedClass>, waiting: (className: string) => string[]): string[] {
  if (event.type === 'deleted') return []
  const { key, isDefault } = latest(event)
  return [...waiting(key), ...(isDefault ? waiting('') : [])]
}

/** A claim that waits for its first consumer tells who it is. */
function claimsOfNewPod(event: InformerEvent<CachedPod>): string[] {
  return event.type === 'added' && event.object.nodeName === '' ? claimKeysOf(event.object) : []
}

function latest<T>(event: InformerEvent<T>): T {
  return event.type === 'updated' ? event.after : event.object
}
