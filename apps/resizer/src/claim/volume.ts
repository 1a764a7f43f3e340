import { causesOf } from '@csi-sidecars/base'
import type { Outcome } from '@csi-sidecars/controller'
import { isTooManyRequests, isUidMismatch } from '@csi-sidecars/kube-client'
import { type Patch, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { SecretError, type SecretRef } from '@csi-sidecars/sidecar'
import type { ResizerVolume } from '../caches/volume.ts'
import type { ResizerClaimDeps, ResizerClaimRun } from './run.ts'

/** The error of a run whose volume was deleted and recreated under the same name during the run. */
class ReplacedError extends Error {
  override readonly name = 'ReplacedError'

  constructor({ key }: ResizerVolume, cause?: unknown) {
    super(`PersistentVolume "${key}" was deleted and made again during the call`, { cause })
  }
}

/** Reports whether the cache has another volume under the name of the run's volume. */
export function isVolumeReplaced({ deps }: ResizerClaimRun<ResizerClaimDeps>, { key, uid }: ResizerVolume): boolean {
  const known = deps.volumes.store.get(key)
  return known !== undefined && known.uid !== uid
}

export function refuseReplaced(run: ResizerClaimRun<ResizerClaimDeps>, volume: ResizerVolume): void {
  if (isVolumeReplaced(run, volume)) throw new ReplacedError(volume)
}

/**
 * Patches the volume that the run began with. Throws if the cache has another volume of this name, because the driver's
 * result does not apply to that volume.
 */
export async function patchVolume(
  run: ResizerClaimRun<ResizerClaimDeps>,
  volume: ResizerVolume,
  patchOf: (known: ResizerVolume) => Patch | undefined,
): Promise<'patched' | 'same'> {
  const { deps, signal } = run
  refuseReplaced(run, volume)
  const patch = patchOf(deps.volumes.store.get(volume.key) ?? volume)
  if (patch === undefined) return 'same'
  deps.volumes.learn(await deps.api.patch(PERSISTENT_VOLUMES, { name: volume.key }, patch, { signal }))
  return 'patched'
}

/**
 * Returns the outcome if the volume was replaced during the run: the claim runs again with the new volume. Undefined
 * for other errors.
 */
export function replacedOutcome(
  run: ResizerClaimRun<ResizerClaimDeps>,
  volume: ResizerVolume,
  error: unknown,
): Outcome | undefined {
  const causes = [...causesOf(error)]
  if (causes.some((cause) => cause instanceof ReplacedError)) return { kind: 'superseded', cause: error }
  if (!causes.some(isUidMismatch)) return undefined
  // The cache still has the old volume. The claim runs again when the cache has the new volume.
  run.waitFor({ on: 'volume', name: volume.key })
  return { kind: 'retry', cause: new ReplacedError(volume, error) }
}

/** Reports whether a Secret could not be read only because the API server asked to retry later. */
export function isSecretDelayed(error: unknown): boolean {
  return error instanceof SecretError && isTooManyRequests(error.cause)
}

/** Returns the reference to a Secret. Missing fields of the API object become empty. */
export function secretRefOf(
  ref: { readonly name?: string | undefined; readonly namespace?: string | undefined } | null | undefined,
): SecretRef | undefined {
  return ref == null ? undefined : { name: ref.name ?? '', namespace: ref.namespace ?? '' }
}
