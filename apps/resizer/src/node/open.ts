import type { Clock } from '@csi-sidecars/base'
import type { Interner } from '@csi-sidecars/informer'
import {
  PERSISTENT_VOLUME_CLAIM_MESSAGE,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUME_MESSAGE,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
} from '@csi-sidecars/kube-types'
import { type Cache, cacheOf } from '@csi-sidecars/sidecar'
import type { Logger } from '@csi-sidecars/telemetry'
import { projectClaim } from '../caches/claim.ts'
import type { Informers, ResizerCacheOptions } from '../caches/open.ts'
import { ownVolumeProjection } from '../caches/volume.ts'
import { followClaimsOfNewVolumes } from './claims.ts'
import { LocalNodeWatch } from './local-node.ts'
import { OwnVolumes } from './owner.ts'

/**
 * Opens the caches for `--node-deployment`: the volumes of this node and their claims. The node is read first, then the
 * volumes, then the claims, because each selects the next.
 */
export function openOfNode({
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
  const own = new OwnVolumes({ node: () => node.current, log })
  const volumes = caches.create({
    resource: PERSISTENT_VOLUMES,
    message: PERSISTENT_VOLUME_MESSAGE,
    project: ownVolumeProjection(driverName, (pv) => own.has(pv)),
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
    // After a change of the node, only a new list finds its other volumes. The list fails only when the process ends.
    const listAgain = (): void => void volumes.caughtUp(clock.monotonic(), signal).catch(() => undefined)
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

/** Returns a cache that starts to read after `before`. Until then, missing events do not mean that its watch hangs. */
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
