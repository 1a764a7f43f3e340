import { ATTACHMENTS_BY_VOLUME } from '../caches/open.ts'
import type { DeletionView } from './decide.ts'
import type { VolumeDeps } from './run.ts'

/** Returns the state of a PersistentVolume, as the input of `decideVolume`. Undefined if the cache does not have it. */
export function observeVolume(
  name: string,
  { volumes, attachments, memory }: Pick<VolumeDeps, 'volumes' | 'attachments' | 'memory'>,
): DeletionView | undefined {
  const volume = volumes.store.get(name)
  if (volume === undefined) return undefined
  return {
    volume,
    attachments: attachments?.store.byIndex(ATTACHMENTS_BY_VOLUME, name) ?? [],
    driverHasDeleted: memory.driverHasDeleted(volume.uid),
  }
}
