import type { VolumeCapability } from '@csi-sidecars/csi-proto'
import { VolumeCapability_AccessMode_Mode as Mode } from '@csi-sidecars/csi-proto'

/** Access modes without a corresponding CSI mode. */
export class AccessModeError extends Error {
  override readonly name = 'AccessModeError'
}

/**
 * The CSI access mode for the access modes of a PersistentVolume, which are a set. With `singleNodeMultiWriter` the
 * driver distinguishes one writing pod from many; without it ReadWriteOncePod is as good as ReadWriteOnce.
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

/** The fields of a PersistentVolume about its use. */
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
