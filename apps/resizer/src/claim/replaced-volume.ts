import { errorChain } from '@csi-sidecars/base'
import type { Outcome } from '@csi-sidecars/controller'
import { isUidMismatch } from '@csi-sidecars/kube-client'
import type { ResizerVolume } from '../caches/volume.ts'
import type { ResizerClaimDeps, ResizerClaimRun } from './run.ts'

/** The error of a run whose volume was deleted and recreated under the same name during the run. */
class ReplacedError extends Error {
  override readonly name = 'ReplacedError'

  constructor({ key }: ResizerVolume, cause?: unknown) {
    super(`PersistentVolume "${key}" was deleted and recreated during the call`, { cause })
  }
}

/** Reports whether the cache has another volume under the name of the run's volume. */
export function isVolumeReplaced({ deps }: ResizerClaimRun<ResizerClaimDeps>, { key, uid }: ResizerVolume): boolean {
  const cached = deps.volumes.store.get(key)
  return cached !== undefined && cached.uid !== uid
}

export function assertNotReplaced(run: ResizerClaimRun<ResizerClaimDeps>, volume: ResizerVolume): void {
  if (isVolumeReplaced(run, volume)) throw new ReplacedError(volume)
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
  const causes = [...errorChain(error)]
  if (causes.some((cause) => cause instanceof ReplacedError)) return { kind: 'superseded', cause: error }
  if (!causes.some(isUidMismatch)) return undefined
  // The cache still has the old volume. The claim runs again when the cache has the new volume.
  run.waitFor({ kind: 'volume', name: volume.key })
  return { kind: 'retry', cause: new ReplacedError(volume, error) }
}
