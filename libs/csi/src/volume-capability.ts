import { VolumeCapability_AccessMode_Mode as Mode, type VolumeCapability } from '@csi-sidecars/csi-proto'

/** The fields of a PersistentVolume that determine its VolumeCapability. */
export interface VolumeUse {
  readonly accessModes?: readonly string[] | undefined
  readonly volumeMode?: string | undefined
  /** The file system type. If it is empty or missing, the driver chooses it. */
  readonly fsType?: string | undefined
  readonly mountOptions?: readonly string[] | undefined
}

/** The error for access modes without a corresponding CSI access mode. */
export class AccessModeError extends Error {
  override readonly name = 'AccessModeError'
}

/**
 * Returns the CSI access mode of a PersistentVolume. Without the capability SINGLE_NODE_MULTI_WRITER, ReadWriteOncePod
 * and ReadWriteOnce give the same mode.
 */
export function accessModeOf(modes: readonly string[] | undefined, singleNodeMultiWriter: boolean): Mode {
  const set = new Set(modes)
  if (set.has('ReadWriteOncePod')) {
    if (set.size > 1) {
      throw new AccessModeError(
        'Kubernetes does not support use of ReadWriteOncePod with other access modes on the same PersistentVolume',
      )
    }
    return singleNodeMultiWriter ? Mode.SINGLE_NODE_SINGLE_WRITER : Mode.SINGLE_NODE_WRITER
  }
  if (set.has('ReadWriteMany')) return Mode.MULTI_NODE_MULTI_WRITER
  if (set.has('ReadOnlyMany')) {
    if (set.has('ReadWriteOnce')) {
      throw new AccessModeError('CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume')
    }
    return Mode.MULTI_NODE_READER_ONLY
  }
  if (set.has('ReadWriteOnce')) return singleNodeMultiWriter ? Mode.SINGLE_NODE_MULTI_WRITER : Mode.SINGLE_NODE_WRITER
  throw new AccessModeError(`unsupported AccessMode combination: [${(modes ?? []).join(' ')}]`)
}

/**
 * Returns the CSI VolumeCapability of a volume. For a block volume it omits the file system type and the mount options.
 * Throws AccessModeError.
 */
export function volumeCapabilityOf(use: VolumeUse, singleNodeMultiWriter: boolean): VolumeCapability {
  const accessMode = { mode: accessModeOf(use.accessModes, singleNodeMultiWriter) }
  if (use.volumeMode === 'Block') return { accessType: { $case: 'block', value: {} }, accessMode }
  const mount = { fsType: use.fsType ?? '', mountFlags: [...(use.mountOptions ?? [])], volumeMountGroup: '' }
  return { accessType: { $case: 'mount', value: mount }, accessMode }
}
