import { isPVMigratable, translateInTreePVToCSI } from '@csi-sidecars/csi-translation'
import type { PersistentVolume } from '@csi-sidecars/kube-types'

/** Returns the volume in the form of a CSI volume. Undefined for an in-tree volume that cannot be translated. */
export function csiVolumeOf(pv: PersistentVolume): PersistentVolume | undefined {
  try {
    return isPVMigratable(pv) ? translateInTreePVToCSI(pv) : pv
  } catch {
    return undefined
  }
}
