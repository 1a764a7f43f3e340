import type {
  V1CSIDriver,
  V1CSINode,
  V1CSINodeDriver,
  V1CSIStorageCapacity,
  V1StorageClass,
  V1TopologySelectorTerm,
  V1VolumeAttachment,
  V1VolumeAttachmentSource,
  V1VolumeAttributesClass,
  V1VolumeError,
} from '@kubernetes/client-node'
import type { Wire } from './wire.ts'

export type CSIDriver = Wire<V1CSIDriver>
export type CSINode = Wire<V1CSINode>
export type CSINodeDriver = Wire<V1CSINodeDriver>
export type CSIStorageCapacity = Wire<V1CSIStorageCapacity>
export type StorageClass = Wire<V1StorageClass>
export type TopologySelectorTerm = Wire<V1TopologySelectorTerm>
export type VolumeAttachment = Wire<V1VolumeAttachment>
export type VolumeAttachmentSource = Wire<V1VolumeAttachmentSource>
export type VolumeAttributesClass = Wire<V1VolumeAttributesClass>
export type VolumeError = Wire<V1VolumeError>
