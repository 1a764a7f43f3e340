import { PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { csiVolumeOf } from '../csi-volume.ts'
import type { NamingVolume } from '../deletion-permit.ts'
import type { ClaimRun } from './run.ts'

/**
 * Returns a PersistentVolume that names the volume of the driver, or that is still being stored for another claim. Such
 * a volume must not be deleted. Lists the PersistentVolumes of the API server, because the cache may lag.
 */
export async function readOwner(
  { deps, signal }: Pick<ClaimRun, 'deps' | 'signal'>,
  { volumeId, claimUid }: { readonly volumeId: string; readonly claimUid: string },
): Promise<NamingVolume | undefined> {
  const { api, memory, settings } = deps
  for (const [name, { claim, created }] of memory.unsavedVolumes) {
    if (created.volumeId === volumeId && claim.uid !== claimUid) return { name, deleting: false }
  }
  const listing = api.list(PERSISTENT_VOLUMES, {
    signal,
    project: (pv): NamingVolume | undefined => {
      const { driver, volumeHandle } = csiVolumeOf(pv)?.spec?.csi ?? {}
      if (driver !== settings.names.driver || volumeHandle !== volumeId) return undefined
      return { name: pv.metadata?.name ?? '', deleting: pv.metadata?.deletionTimestamp != null }
    },
  })
  for await (const { items } of listing) if (items[0] !== undefined) return items[0]
  return undefined
}
