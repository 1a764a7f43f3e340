import { aborted, CancelledError, type Clock, scope } from '@csi-sidecars/base'
import type { Informer } from '@csi-sidecars/informer'
import type { ResizerClaim } from '../caches/claim.ts'
import type { ResizerVolume } from '../caches/volume.ts'

export interface ClaimsOfNewVolumesOptions {
  readonly claims: Pick<Informer<ResizerClaim, never>, 'store' | 'caughtUp'>
  readonly volumes: Pick<Informer<ResizerVolume, never>, 'store' | 'subscribe'>
  readonly clock: Clock
}

/** A claim is bound after its volume was created, so its own event nearly always follows. */
const FOR_THE_EVENT_MS = 1_000
/** A list has all claims of the cluster: volumes whose claims do not exist must not cause many. */
const BETWEEN_LISTS_MS = 30_000

/**
 * Claims are kept only while their volume is this instance's. One that was dropped before its volume came, as when the
 * volume moves to this node, comes by another list, if nothing else brings it. Runs until the signal is aborted.
 */
export async function followClaimsOfNewVolumes(
  { claims, volumes, clock }: ClaimsOfNewVolumesOptions,
  signal: AbortSignal,
): Promise<void> {
  const missing = new Map<string, string>()
  // Their claims are in the first list, which begins now.
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
