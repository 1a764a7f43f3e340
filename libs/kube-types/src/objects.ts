import type {
  CoreV1Event,
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1ConfigMap,
  V1Container,
  V1CSIDriver,
  V1CSINode,
  V1CSINodeDriver,
  V1CSIPersistentVolumeSource,
  V1CSIStorageCapacity,
  V1DaemonSet,
  V1Deployment,
  V1Lease,
  V1Namespace,
  V1Node,
  V1NodeSelector,
  V1NodeSelectorRequirement,
  V1NodeSelectorTerm,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1PersistentVolumeClaimCondition,
  V1PersistentVolumeClaimSpec,
  V1PersistentVolumeClaimStatus,
  V1PersistentVolumeSpec,
  V1Pod,
  V1PolicyRule,
  V1Role,
  V1RoleBinding,
  V1Secret,
  V1SecretReference,
  V1ServiceAccount,
  V1StatefulSet,
  V1StorageClass,
  V1TopologySelectorTerm,
  V1Volume,
  V1VolumeAttachment,
  V1VolumeAttachmentSource,
  V1VolumeAttributesClass,
  V1VolumeError,
} from '@kubernetes/client-node'
import type { Wire } from './wire.ts'

export type * from './meta.ts'
export type * from './snapshots.ts'
export type { Status } from './status.ts'

export type ConfigMap = Wire<V1ConfigMap>
export type Event = Wire<CoreV1Event>
export type Namespace = Wire<V1Namespace>
export type Node = Wire<V1Node>
export type Pod = Wire<V1Pod>
export type Secret = Wire<V1Secret>
export type SecretReference = Wire<V1SecretReference>
export type ServiceAccount = Wire<V1ServiceAccount>
/** A volume of a pod. */
export type Volume = Wire<V1Volume>

/** A container of a pod. */
export type Container = Wire<V1Container>
export type Deployment = Wire<V1Deployment>
export type DaemonSet = Wire<V1DaemonSet>
export type StatefulSet = Wire<V1StatefulSet>

export type PersistentVolume = Wire<V1PersistentVolume>
export type PersistentVolumeSpec = Wire<V1PersistentVolumeSpec>
export type CSIPersistentVolumeSource = Wire<V1CSIPersistentVolumeSource>
export type NodeSelector = Wire<V1NodeSelector>
export type NodeSelectorTerm = Wire<V1NodeSelectorTerm>
export type NodeSelectorRequirement = Wire<V1NodeSelectorRequirement>

export type PersistentVolumeClaim = Wire<V1PersistentVolumeClaim>
export type PersistentVolumeClaimSpec = Wire<V1PersistentVolumeClaimSpec>
export type PersistentVolumeClaimStatus = Wire<V1PersistentVolumeClaimStatus>
export type PersistentVolumeClaimCondition = Wire<V1PersistentVolumeClaimCondition>

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

export type Lease = Wire<V1Lease>

export type ClusterRole = Wire<V1ClusterRole>
export type ClusterRoleBinding = Wire<V1ClusterRoleBinding>
export type PolicyRule = Wire<V1PolicyRule>
export type Role = Wire<V1Role>
export type RoleBinding = Wire<V1RoleBinding>
