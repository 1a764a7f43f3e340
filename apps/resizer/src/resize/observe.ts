import type { Clock } from '@csi-sidecars/base'
import type { Reader } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import { type ResizerVolume, wholeVolume } from '../caches/volume.ts'
import type { ResizeMemory } from './memory.ts'
import { isOurs } from './source.ts'

/** The settings that decisions depend on. They never change during the life of the process. */
export interface ResizeSettings {
  readonly driverName: string
  /** True if the driver is called for expansions. False if only nodes expand volumes. */
  readonly driverExpands: boolean
  /** True with `--node-deployment`. A volume that is not cached then belongs to another node. */
  readonly nodeDeployment: boolean
  /** The feature gate `AnnotateFsResize`. */
  readonly annotateFsResize: boolean
}

/** The state of one claim at one moment, with everything that its next expansion step depends on. */
export interface ResizeView {
  readonly claim: ResizerClaim
  readonly volume: ResizerVolume | undefined
  /** True if the last expansion that this process asked for has failed for good. */
  readonly finallyFailed: boolean
  /** The milliseconds until an infeasible request may be repeated. Undefined without a delay. */
  readonly nextTryInMs: number | undefined
  readonly settings: ResizeSettings
  /** The wall time for timestamps in the API. */
  readonly now: number
}

/** The caches, the memory and the settings from which the view of an expansion is made. */
export interface ResizeObserveDeps {
  readonly api: Pick<KubeClient, 'get'>
  readonly claims: { readonly store: Pick<Reader<ResizerClaim>, 'get'> }
  readonly volumes: { readonly store: Pick<Reader<ResizerVolume>, 'get'> }
  readonly memory: ResizeMemory
  readonly settings: ResizeSettings
  readonly clock: Pick<Clock, 'now'>
}

/** Reads the state of a claim. Returns undefined if the claim is gone. */
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
    nextTryInMs: memory.infeasibleClaims.expiresInMs(key),
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
