import type { VolumeCapability } from '@csi-sidecars/csi-proto'
import { accessModeOf } from './access-mode.ts'

/** What a PersistentVolume says about its use. */
export interface VolumeUse {
  readonly accessModes?: readonly string[] | undefined
  readonly volumeMode?: string | undefined
  /** Empty or left out: the driver chooses. */
  readonly fsType?: string | undefined
  readonly mountOptions?: readonly string[] | undefined
}

/**
 * The use of a volume as a CSI VolumeCapability. For a block volume, drops the file system type and the mount
 * options, which have no meaning there. Throws AccessModeError.
 */
export function volumeCapabilityOf(use: VolumeUse, singleNodeMultiWriter: boolean): VolumeCapability {
  const accessMode = { mode: accessModeOf(use.accessModes, singleNodeMultiWriter) }
  if (use.volumeMode === 'Block') return { accessType: { $case: 'block', value: {} }, accessMode }
  const mount = { fsType: use.fsType ?? '', mountFlags: [...(use.mountOptions ?? [])], volumeMountGroup: '' }
  return { accessType: { $case: 'mount', value: mount }, accessMode }
}
