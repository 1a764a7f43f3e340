import { keysOf, type Run, type Source } from '@csi-sidecars/controller'
import type { Cached, Informer, InformerEvent } from '@csi-sidecars/informer'
import { type Caches, CLAIMS_BY_VOLUME, VOLUMES_BY_CLAIM } from '../caches/caches.ts'
import type { Claim } from '../caches/claim.ts'
import type { CachedPod } from '../caches/pod.ts'
import { claimKeysOf } from '../caches/pod.ts'
import type { CachedClass } from '../caches/storage.ts'
import { claimKeyOf, type Volume } from '../caches/volume.ts'
import { type ControllerParts, KeyInbox, type Life, periodically, runWorks } from '../control.ts'
import { runProtection } from './protect.ts'
import { claimsWaitingFor, reconcileClaim, reconcileVolume } from './reconcile.ts'
import { volumeOfScrubber } from './scrubber.ts'

/** One worker each, as in kube-controller-manager: two claims must not be promised the same volume. */
const WORKERS = 1

export interface PersistentVolumeOptions {
  /** How often everything is looked at again. */
  readonly resyncMs?: number | undefined
  readonly tellsUnused?: boolean
}

const RESYNC_MS = 15_000

/** Binds claims to volumes, keeps their phases, and protects what is in use. */
export async function runPersistentVolumeController(
  parts: ControllerParts,
  life: Life,
  { resyncMs = RESYNC_MS, tellsUnused = false }: PersistentVolumeOptions = {},
): Promise<void> {
  const { caches, clock } = parts
  const claims = new KeyInbox()
  const lookAtClaim = (key: string): void => claims.add(key)
  const volumeParts = { ...parts, lookAtClaim, scrubbers: new Map<string, string>() }
  const resync =
    (cache: Informer<Cached>): Source =>
    (queue) =>
      periodically(clock, resyncMs, () => {
        for (const { key } of cache.store.values()) queue.add(key)
      })
  const works = [
    {
      of: 'PersistentVolumeClaim',
      workers: WORKERS,
      sources: [
        claims.source,
        keysOf(caches.claims, claimKeys),
        keysOf(caches.volumes, (event) => claimsOfVolume(event, caches)),
        keysOf(caches.classes, (event) => claimsOfClass(event, (name) => claimsWaitingFor(name, caches))),
        keysOf(caches.pods, claimsOfNewPod),
        resync(caches.claims),
      ],
      reconcile: (key: string, { signal }: Run) => reconcileClaim(key, parts, signal),
    },
    {
      of: 'PersistentVolume',
      workers: WORKERS,
      sources: [
        keysOf(caches.claims, (event) => volumesOfClaim(event, caches)),
        keysOf(caches.volumes, volumeKeys),
        keysOf(caches.pods, volumesOfPod),
        resync(caches.volumes),
      ],
      reconcile: (key: string, { signal }: Run) => reconcileVolume(key, volumeParts, signal),
    },
  ]
  await Promise.all([runWorks(works, parts, life), runProtection(parts, life, { tellsUnused })])
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

/** The claim that a volume is for; and when it is free, all claims that name it or wait for one of its class. */
function claimsOfVolume(event: InformerEvent<Volume>, caches: Caches): string[] {
  const { key, claimRef, className, phase } = latest(event)
  if (claimRef !== undefined) return [claimKeyOf(claimRef)]
  if (event.type === 'deleted') return []
  const naming = caches.claims.store.byIndex(CLAIMS_BY_VOLUME, key).map((claim) => claim.key)
  return phase === 'Available' ? [...naming, ...claimsWaitingFor(className, caches)] : naming
}

/** The volume that the pod scrubs. */
function volumesOfPod(event: InformerEvent<CachedPod>): string[] {
  const volume = volumeOfScrubber(latest(event))
  return volume === undefined ? [] : [volume]
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
