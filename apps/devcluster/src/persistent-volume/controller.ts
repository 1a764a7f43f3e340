import { keysOf, type Run } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import { type Caches, VOLUMES_BY_CLAIM } from '../caches/caches.ts'
import type { Claim } from '../caches/claim.ts'
import type { CachedPod } from '../caches/pod.ts'
import { claimKeysOf } from '../caches/pod.ts'
import type { CachedClass } from '../caches/storage.ts'
import { claimKeyOf, type Volume } from '../caches/volume.ts'
import { type ControllerParts, KeyInbox, type Life, runWorks } from '../control.ts'
import { runProtection } from './protect.ts'
import { claimsWaitingFor, reconcileClaim, reconcileVolume } from './reconcile.ts'

/** One worker each, as in kube-controller-manager: two claims must not be promised the same volume. */
const WORKERS = 1

/** Binds claims to volumes, keeps their phases, and protects what is in use. */
export async function runPersistentVolumeController(parts: ControllerParts, life: Life): Promise<void> {
  const { caches } = parts
  const claims = new KeyInbox()
  const lookAtClaim = (key: string): void => claims.add(key)
  const works = [
    {
      of: 'PersistentVolumeClaim',
      workers: WORKERS,
      sources: [
        claims.source,
        keysOf(caches.claims, claimKeys),
        keysOf(caches.volumes, (event) => claimsOfVolume(event, (name) => claimsWaitingFor(name, caches))),
        keysOf(caches.classes, (event) => claimsOfClass(event, (name) => claimsWaitingFor(name, caches))),
        keysOf(caches.pods, claimsOfNewPod),
      ],
      reconcile: (key: string, { signal }: Run) => reconcileClaim(key, parts, signal),
    },
    {
      of: 'PersistentVolume',
      workers: WORKERS,
      sources: [keysOf(caches.claims, (event) => volumesOfClaim(event, caches)), keysOf(caches.volumes, volumeKeys)],
      reconcile: (key: string, { signal }: Run) => reconcileVolume(key, { ...parts, lookAtClaim }, signal),
    },
  ]
  await Promise.all([runWorks(works, parts, life), runProtection(parts, life)])
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
