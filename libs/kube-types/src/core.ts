import type {
  CoreV1Event,
  V1ConfigMap,
  V1CSIPersistentVolumeSource,
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
  V1Secret,
  V1SecretReference,
  V1ServiceAccount,
  V1Volume,
} from '@kubernetes/client-node'
import type { Wire } from './wire.ts'

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
