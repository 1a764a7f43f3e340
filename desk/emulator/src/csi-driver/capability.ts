import { type VolumeCapability, VolumeCapability_AccessMode_Mode } from '@csi-sidecars/csi-proto'
import { invalidArgument } from './driver-failure.ts'

const MULTI_NODE: ReadonlySet<number> = new Set([
  VolumeCapability_AccessMode_Mode.MULTI_NODE_READER_ONLY,
  VolumeCapability_AccessMode_Mode.MULTI_NODE_SINGLE_WRITER,
  VolumeCapability_AccessMode_Mode.MULTI_NODE_MULTI_WRITER,
])

/** Reports whether a volume with this capability may be attached to several nodes. */
export function isMultiNode(capability: VolumeCapability): boolean {
  return MULTI_NODE.has(capability.accessMode?.mode ?? VolumeCapability_AccessMode_Mode.UNKNOWN)
}

/** Returns the volume capability. Throws if it has no access type or no access mode. */
export function requireCapability(capability: VolumeCapability | undefined): VolumeCapability {
  if (capability === undefined) throw invalidArgument('volume_capability is required')
  if (capability.accessType === undefined) throw invalidArgument('volume_capability.access_type is required')
  if ((capability.accessMode?.mode ?? 0) === VolumeCapability_AccessMode_Mode.UNKNOWN) {
    throw invalidArgument('volume_capability.access_mode is required')
  }
  return capability
}

/** Reports whether two capabilities have the same access type and mode. File system and mount flags may differ. */
export function isCompatible(a: VolumeCapability, b: VolumeCapability): boolean {
  return a.accessType?.$case === b.accessType?.$case && a.accessMode?.mode === b.accessMode?.mode
}
