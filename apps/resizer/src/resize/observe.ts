import type { Clock } from '@csi-sidecars/base'
import type { Reader } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import { type ResizerVolume, wholeVolume } from '../caches/volume.ts'
import { SlowSet } from '../claim/keyed-mutex.ts'
import { isOurs } from './source.ts'

/** The settings of this process that decisions depend on; the same for its whole life. */
export interface ResizeSettings {
  readonly driverName: string
  /** The driver is called for expansions; false where only nodes expand. */
  readonly driverExpands: boolean
  /** --node-deployment: a volume that is not in the cache is another instance's. */
  readonly nodeDeployment: boolean
  /** Gate AnnotateFsResize. */
  readonly annotateFsResize: boolean
}

/** One claim and all that its next step depends on, at one moment. */
export interface ResizeView {
  readonly claim: ResizerClaim
  /** Undefined when the cache does not have it. */
  readonly volume: ResizerVolume | undefined
  /** The last expansion that this process asked for has failed for good. */
  readonly finallyFailed: boolean
  /** How long the claim is still in the slow set; undefined when it is not in it. */
  readonly slowForMs: number | undefined
  readonly settings: ResizeSettings
  /** The wall time for timestamps in the API. */
  readonly now: number
}

export interface ResizeObserveDeps {
  readonly api: Pick<KubeClient, 'get'>
  readonly claims: { readonly store: Pick<Reader<ResizerClaim>, 'get'> }
  readonly volumes: { readonly store: Pick<Reader<ResizerVolume>, 'get'> }
  readonly memory: ResizeMemory
  readonly settings: ResizeSettings
  readonly clock: Pick<Clock, 'now'>
}

/** Undefined when the claim is gone. */
export async function observeResize(
  key: string,
  { api, claims, volumes, memory, settings, clock }: ResizeObserveDeps,
  signal: AbortSignal,
): Promise<ResizeView | undefined> {
  const claim = claims.store.get(key)
  if (claim === undefined) return undefined
  const volume = await volumeOf(claim, volumes.store.get(claim.volumeName), { api, settings, signal })
  return {
    claim,
    volume,
    finallyFailed: memory.finallyFailed.has(key),
    slowForMs: memory.slow.leftMs(key),
    settings,
    now: clock.now(),
  }
}

/** Reads a volume of kind `other` from the server if a migrated driver owns it, because the cache lacks its fields. */
async function volumeOf(
  claim: ResizerClaim,
  volume: ResizerVolume | undefined,
  { api, settings, signal }: Pick<ResizeObserveDeps, 'api' | 'settings'> & { signal: AbortSignal },
): Promise<ResizerVolume | undefined> {
  if (volume?.kind !== 'other' || !isOurs(claim, volume, settings.driverName)) return volume
  return wholeVolume(await api.get(PERSISTENT_VOLUMES, { name: volume.key }, { signal }))
}

/**
 * Results of the driver that the API cannot store. They are lost with the process and with leadership, without harm.
 */
export class ResizeMemory {
  /** Claims whose last expansion has failed for good: no earlier one can still be running. */
  readonly finallyFailed = new Set<string>()
  readonly slow: SlowSet

  constructor(clock: Clock, slowMs: number) {
    this.slow = new SlowSet(clock, slowMs)
  }

  /** The claim is gone. */
  forget(key: string): void {
    this.finallyFailed.delete(key)
    this.slow.remove(key)
  }
}
