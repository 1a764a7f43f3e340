import { causesOf } from '@csi-sidecars/base'
import type { Outcome } from '@csi-sidecars/controller'
import { isUidMismatch } from '@csi-sidecars/kube-client'
import { type Patch, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import type { Volume } from '../caches/volume.ts'
import type { ClaimDeps, ClaimRun } from './run.ts'

/** A volume that was deleted and recreated under its name since the run began. */
class ReplacedError extends Error {
  override readonly name = 'ReplacedError'

  constructor({ key }: Volume, cause?: unknown) {
    super(`PersistentVolume "${key}" was deleted and made again during the call`, { cause })
  }
}

/** Reports whether the cache has another volume under the name of the run's volume. */
export function isVolumeReplaced({ deps }: ClaimRun<ClaimDeps>, { key, uid }: Volume): boolean {
  const known = deps.volumes.store.get(key)
  return known !== undefined && known.uid !== uid
}

export function refuseReplaced(run: ClaimRun<ClaimDeps>, volume: Volume): void {
  if (isVolumeReplaced(run, volume)) throw new ReplacedError(volume)
}

/**
 * Patches the volume that the run began with, from its cached state. A volume that was recreated under the same name
 * stays unchanged, because the driver's result does not apply to it.
 */
export async function patchVolume(
  run: ClaimRun<ClaimDeps>,
  volume: Volume,
  patchOf: (known: Volume) => Patch | undefined,
): Promise<'patched' | 'same'> {
  const { deps, signal } = run
  refuseReplaced(run, volume)
  const patch = patchOf(deps.volumes.store.get(volume.key) ?? volume)
  if (patch === undefined) return 'same'
  deps.volumes.learn(await deps.api.patch(PERSISTENT_VOLUMES, { name: volume.key }, patch, { signal }))
  return 'patched'
}

/**
 * Returns the outcome of a run whose volume was replaced: the claim runs again with the new volume. Undefined for other
 * errors.
 */
export function replacedOutcome(run: ClaimRun<ClaimDeps>, volume: Volume, error: unknown): Outcome | undefined {
  const causes = [...causesOf(error)]
  if (causes.some((cause) => cause instanceof ReplacedError)) return { kind: 'superseded', cause: error }
  if (!causes.some(isUidMismatch)) return undefined
  // The cache does not have the new volume yet.
  run.waitFor({ on: 'volume', name: volume.key })
  return { kind: 'retry', cause: new ReplacedError(volume, error) }
}
