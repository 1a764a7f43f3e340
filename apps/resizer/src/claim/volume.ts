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

/** Whether the cache knows another volume by the name of the one that the run began with. */
export function isVolumeReplaced({ deps }: ClaimRun<ClaimDeps>, { key, uid }: Volume): boolean {
  const known = deps.volumes.store.get(key)
  return known !== undefined && known.uid !== uid
}

export function refuseReplaced(run: ClaimRun<ClaimDeps>, volume: Volume): void {
  if (isVolumeReplaced(run, volume)) throw new ReplacedError(volume)
}

/**
 * Changes the volume that a run began with, from what is known of it now. What the driver has done to that volume says
 * nothing about another one that has its name since: that one stays unchanged.
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

/** What becomes of a run whose volume was replaced: the claim is looked at with the new one. Undefined for other errors. */
export function replacedOutcome(run: ClaimRun<ClaimDeps>, volume: Volume, error: unknown): Outcome | undefined {
  const causes = [...causesOf(error)]
  if (causes.some((cause) => cause instanceof ReplacedError)) return { kind: 'superseded', cause: error }
  if (!causes.some(isUidMismatch)) return undefined
  // Only the server knows the other one yet.
  run.waitFor({ on: 'volume', name: volume.key })
  return { kind: 'retry', cause: new ReplacedError(volume, error) }
}
