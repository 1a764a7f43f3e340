import type { KubeObject } from '../schema/json.ts'
import type { Kind } from '../schema/kinds.ts'
import { completed } from '../schema/typed.ts'
import type { Registry } from '../storage/registry.ts'
import { daemonSetStrategy, deploymentStrategy, replicaSetStrategy, statefulSetStrategy } from './apps.ts'
import { podDisruptionBudgetStrategy } from './budget.ts'
import { storageClassStrategy, volumeAttributesClassStrategy } from './classes.ts'
import { configMapStrategy, eventStrategy, namespaceStrategy, nodeStrategy, secretStrategy } from './core.ts'
import { csiDriverStrategy, csiNodeStrategy, csiStorageCapacityStrategy } from './csi.ts'
import { leaseStrategy } from './lease.ts'
import { networkPolicyStrategy, priorityClassStrategy } from './networking.ts'
import { persistentVolumeStrategy } from './persistent-volume.ts'
import { persistentVolumeClaimStrategy } from './persistent-volume-claim.ts'
import { podStrategy } from './pod.ts'
import { clusterRoleBindingStrategy, clusterRoleStrategy, roleBindingStrategy, roleStrategy } from './rbac.ts'
import { serviceStrategy } from './service.ts'
import type { Strategy } from './strategy.ts'
import { volumeAttachmentStrategy } from './volume-attachment.ts'

const STRATEGIES: Readonly<Record<string, Strategy>> = {
  ClusterRole: clusterRoleStrategy,
  ClusterRoleBinding: clusterRoleBindingStrategy,
  ConfigMap: configMapStrategy,
  CSIDriver: csiDriverStrategy,
  CSINode: csiNodeStrategy,
  CSIStorageCapacity: csiStorageCapacityStrategy,
  DaemonSet: daemonSetStrategy,
  Deployment: deploymentStrategy,
  Event: eventStrategy,
  Lease: leaseStrategy,
  Namespace: namespaceStrategy,
  NetworkPolicy: networkPolicyStrategy,
  Node: nodeStrategy,
  PersistentVolume: persistentVolumeStrategy,
  PersistentVolumeClaim: persistentVolumeClaimStrategy,
  Pod: podStrategy,
  PodDisruptionBudget: podDisruptionBudgetStrategy,
  PriorityClass: priorityClassStrategy,
  ReplicaSet: replicaSetStrategy,
  Role: roleStrategy,
  RoleBinding: roleBindingStrategy,
  Secret: secretStrategy,
  Service: serviceStrategy,
  StatefulSet: statefulSetStrategy,
  StorageClass: storageClassStrategy,
  VolumeAttachment: volumeAttachmentStrategy,
  VolumeAttributesClass: volumeAttributesClassStrategy,
}

const ORDINARY: Strategy = {}

export function strategyOf(kind: Kind): Strategy {
  return STRATEGIES[kind.kind] ?? ORDINARY
}

/** The object with what it is given for itself. */
export function allocated({ store }: Registry, kind: Kind, object: KubeObject): KubeObject {
  const { allocate } = strategyOf(kind)
  return allocate === undefined ? object : completed(kind, allocate(store, object))
}
