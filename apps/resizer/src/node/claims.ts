import { aborted, CancelledError, type Clock, scope } from '@csi-sidecars/base'
import type { Informer } from '@csi-sidecars/informer'
import type { ResizerClaim } from '../caches/claim.ts'
import type { ResizerVolume } from '../caches/volume.ts'

export interface ClaimsOfNewVolumesOptions {
  readonly claims: Pick<Informer<ResizerClaim, never>, 'store' | 'caughtUp'>
  readonly volumes: Pick<Informer<ResizerVolume, never>, 'store' | 'subscribe'>
  readonly clock: Clock
}

/** The wait for the watch event of a new volume's claim. The event nearly always comes, as a claim is bound last. */
const FOR_THE_EVENT_MS = 1_000
/** The pause between two lists, because a list reads all claims and each volume without a claim may cause one. */
const BETWEEN_LISTS_MS = 30_000

/**
 * Lists the claims again if the cache lacks the claim of a new volume. A claim is cached only while its volume is on
 * this node, so it was dropped before the volume moved here. Runs until the signal is aborted.
 */
export async function followClaimsOfNewVolumes(
  { claims, volumes, clock }: ClaimsOfNewVolumesOptions,
  signal: AbortSignal,
): Promise<void> {
  const missing = new Map<string, string>()
  // The first list of claims begins now. It contains the claims of these volumes.
  const known = new Set([...volumes.store.values()].map(({ uid }) => uid))
  let wake = (): void => undefined
  const unsubscribe = volumes.subscribe((event) => {
    if (event.type === 'updated') return
    const { key, uid, claimNamespace, claimName } = event.object
    const isKnown = known.delete(uid)
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
      await clock.sleep(Math.max(FOR_THE_EVENT_MS, listedAt + BETWEEN_LISTS_MS - clock.monotonic()), signal)
      await claims.store.whenSynced(signal)
      const isMissing = [...missing.values()].some((key) => claims.store.get(key) === undefined)
      missing.clear()
      if (!isMissing) continue
      listedAt = clock.monotonic()
      await claims.caughtUp(listedAt, signal)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    unsubscribe()
  }
}
