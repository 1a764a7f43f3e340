import { aborted, CancelledError, type Clock, scope } from '@csi-sidecars/base'
import type { Informer, Interner } from '@csi-sidecars/informer'
import {
  PERSISTENT_VOLUME_CLAIM_MESSAGE,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUME_MESSAGE,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
} from '@csi-sidecars/kube-types'
import { type Cache, cacheOf } from '@csi-sidecars/sidecar'
import type { Logger } from '@csi-sidecars/telemetry'
import { projectClaim, type ResizerClaim } from '../caches/claim.ts'
import type { Informers, ResizerCacheOptions } from '../caches/open.ts'
import { ownVolumeProjection, type ResizerVolume } from '../caches/volume.ts'
import { LocalNodeWatch } from './local-node.ts'
import { OwnVolumes } from './owner.ts'

/** The caches that may be behind each other. */
export interface ClaimsOfNewVolumesOptions {
  readonly claims: Pick<Informer<ResizerClaim, never>, 'store' | 'ensureListedSince'>
  readonly volumes: Pick<Informer<ResizerVolume, never>, 'store' | 'subscribe'>
  readonly clock: Clock
}

/**
 * Opens the caches for `--node-deployment`: the volumes of this node and their claims. The node is read first, because
 * it selects the volumes. The claims are read last, because the volumes select them.
 */
export function openNodeCaches({
  caches,
  driverName,
  nodeName,
  resyncMs,
  clock,
  log,
}: ResizerCacheOptions & {
  readonly nodeName: string
  readonly clock: Clock
  readonly log: Logger
}): Pick<Informers, 'claims' | 'volumes'> {
  const node = new LocalNodeWatch({ caches, nodeName, driverName, clock, log })
  const ownVolumes = new OwnVolumes({ node: () => node.current, log })
  const volumes = caches.create({
    resource: PERSISTENT_VOLUMES,
    message: PERSISTENT_VOLUME_MESSAGE,
    project: ownVolumeProjection(driverName, (pv) => ownVolumes.has(pv)),
    resyncMs,
  })
  const claims = caches.create({
    resource: PERSISTENT_VOLUME_CLAIMS,
    message: PERSISTENT_VOLUME_CLAIM_MESSAGE,
    project: (pvc: PersistentVolumeClaim, intern: Interner) =>
      volumes.store.get(pvc.spec?.volumeName ?? '') === undefined ? undefined : projectClaim(pvc, intern),
    resyncMs,
  })
  const runVolumes = async (signal: AbortSignal): Promise<void> => {
    // Only a list shows the volumes that a changed node now owns. `ensureListedSince` rejects only when the process ends.
    const listAgain = (): void => void volumes.ensureListedSince(clock.monotonic(), signal).catch(() => undefined)
    using undo = new DisposableStack()
    undo.defer(node.onChange(listAgain))
    await volumes.run(signal)
  }
  const runClaims = async (signal: AbortSignal): Promise<void> => {
    await Promise.all([claims.run(signal), followClaimsOfNewVolumes({ claims, volumes, clock }, signal)])
  }
  const nodeKnown = (signal: AbortSignal): Promise<void> => node.whenKnown(signal)
  const volumesKnown = (signal: AbortSignal): Promise<void> => volumes.store.whenSynced(signal)
  caches.add(cacheAfter(nodeKnown, { cache: cacheOf('PersistentVolumes', volumes, clock), run: runVolumes, clock }))
  caches.add(
    cacheAfter(volumesKnown, { cache: cacheOf('PersistentVolumeClaims', claims, clock), run: runClaims, clock }),
  )
  return { claims, volumes }
}

/** Returns a cache that starts after `before` resolves. Until the start, the health check counts it as healthy. */
function cacheAfter(
  before: (signal: AbortSignal) => Promise<void>,
  { cache, run, clock }: { readonly cache: Cache; readonly run: Cache['run']; readonly clock: Clock },
): Cache {
  let startedAt: number | undefined
  return {
    name: cache.name,
    get synced() {
      return cache.synced
    },
    get silentForMs() {
      return startedAt === undefined ? 0 : Math.min(cache.silentForMs, clock.monotonic() - startedAt)
    },
    async run(signal) {
      await before(signal)
      startedAt = clock.monotonic()
      await run(signal)
    },
  }
}

/** The usual time until a watch event brings the claim of a new volume. Kubernetes binds the claim after the volume. */
const USUAL_EVENT_DELAY_MS = 1_000
/** The minimum pause between two lists, because each list reads all claims. */
const MIN_LIST_INTERVAL_MS = 30_000

/**
 * Lists the claims again if the cache lacks the claim of a new volume. The cache drops claims whose volumes are not on
 * this node. Runs until the signal is aborted.
 */
export async function followClaimsOfNewVolumes(
  { claims, volumes, clock }: ClaimsOfNewVolumesOptions,
  signal: AbortSignal,
): Promise<void> {
  const missing = new Map<string, string>()
  // The first list of claims begins now, so it contains the claims of all cached volumes.
  const uids = new Set([...volumes.store.values()].map(({ uid }) => uid))
  let wake = (): void => undefined
  const unsubscribe = volumes.subscribe((event) => {
    if (event.type === 'updated') return
    const { key, uid, claimNamespace, claimName } = event.object
    const isKnown = uids.delete(uid)
    if (event.type === 'deleted') missing.delete(key)
    else if (!isKnown && claimNamespace !== undefined) missing.set(key, `${claimNamespace}/${claimName ?? ''}`)
    wake()
  })
  let listedAt = Number.NEGATIVE_INFINITY
  try {
    while (!signal.aborted) {
      while (missing.size === 0) {
        using idle = scope(signal)
        wake = () => idle.abort(new CancelledError('a volume has come'))
        await aborted(idle.signal)
        signal.throwIfAborted()
      }
      await clock.sleep(Math.max(USUAL_EVENT_DELAY_MS, listedAt + MIN_LIST_INTERVAL_MS - clock.monotonic()), signal)
      await claims.store.whenSynced(signal)
      const isMissing = [...missing.values()].some((key) => claims.store.get(key) === undefined)
      missing.clear()
      if (!isMissing) continue
      listedAt = clock.monotonic()
      await claims.ensureListedSince(listedAt, signal)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    unsubscribe()
  }
}
