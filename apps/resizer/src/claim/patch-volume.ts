import { type Patch, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import type { ResizerVolume } from '../caches/volume.ts'
import { assertNotReplaced } from './replaced-volume.ts'
import type { ResizerClaimDeps, ResizerClaimRun } from './run.ts'

/**
 * Patches the volume that the run began with. Throws if the cache has another volume of this name, because the driver's
 * result does not apply to that volume.
 */
export async function patchVolume(
  run: ResizerClaimRun<ResizerClaimDeps>,
  volume: ResizerVolume,
  patchOf: (newest: ResizerVolume) => Patch | undefined,
): Promise<'patched' | 'same'> {
  const { deps, signal } = run
  assertNotReplaced(run, volume)
  const patch = patchOf(deps.volumes.store.get(volume.key) ?? volume)
  if (patch === undefined) return 'same'
  deps.volumes.storeAnswer(await deps.api.patch(PERSISTENT_VOLUMES, { name: volume.key }, patch, { signal }))
  return 'patched'
}
