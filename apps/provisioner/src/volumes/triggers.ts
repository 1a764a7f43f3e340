import { bringsNews, objectOf, type Trigger } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import { type ProvisionerVolume, withoutOurFinalizer } from '../caches/volume.ts'
import { isProtected } from './decide.ts'

/** Returns a PersistentVolume that may need our finalizer or its deletion. The run of an own write continues by itself. */
export const onVolume: Trigger<ProvisionerVolume> = (event) => {
  if (event.type === 'deleted') return []
  if (!bringsNews(event, withoutOurFinalizer) && !hasLostFinalizer(event)) return []
  const volume = objectOf(event)
  return volume.ours ? [volume.key] : []
}

/** Reports whether another writer has removed our finalizer. This process removes it only if it is not needed. */
function hasLostFinalizer(event: InformerEvent<ProvisionerVolume>): boolean {
  if (event.type !== 'updated' || event.after.deleting || event.after.reclaimPolicy !== 'Delete') return false
  return isProtected(event.before) && !isProtected(event.after)
}
