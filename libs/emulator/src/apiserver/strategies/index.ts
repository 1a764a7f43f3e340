import type { KubeObject } from '../schema/json.ts'
import {
  CLUSTER_ROLE,
  CLUSTER_ROLE_BINDING,
  CONFIG_MAP,
  CSI_DRIVER,
  CSI_NODE,
  CSI_STORAGE_CAPACITY,
  DAEMON_SET,
  DEPLOYMENT,
  EVENT,
  type Kind,
  LEASE,
  NAMESPACE,
  NETWORK_POLICY,
  NODE,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  POD_DISRUPTION_BUDGET,
  PRIORITY_CLASS,
  REPLICA_SET,
  ROLE,
  ROLE_BINDING,
  SECRET,
  SERVICE,
  STATEFUL_SET,
  STORAGE_CLASS,
  VOLUME_ATTACHMENT,
  VOLUME_ATTRIBUTES_CLASS,
} from '../schema/kinds.ts'
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

const STRATEGIES = new Map<Kind, Strategy>([
  [CLUSTER_ROLE, clusterRoleStrategy],
  [CLUSTER_ROLE_BINDING, clusterRoleBindingStrategy],
  [CONFIG_MAP, configMapStrategy],
  [CSI_DRIVER, csiDriverStrategy],
  [CSI_NODE, csiNodeStrategy],
  [CSI_STORAGE_CAPACITY, csiStorageCapacityStrategy],
  [DAEMON_SET, daemonSetStrategy],
  [DEPLOYMENT, deploymentStrategy],
  [EVENT, eventStrategy],
  [LEASE, leaseStrategy],
  [NAMESPACE, namespaceStrategy],
  [NETWORK_POLICY, networkPolicyStrategy],
  [NODE, nodeStrategy],
  [PERSISTENT_VOLUME, persistentVolumeStrategy],
  [PERSISTENT_VOLUME_CLAIM, persistentVolumeClaimStrategy],
  [POD, podStrategy],
  [POD_DISRUPTION_BUDGET, podDisruptionBudgetStrategy],
  [PRIORITY_CLASS, priorityClassStrategy],
  [REPLICA_SET, replicaSetStrategy],
  [ROLE, roleStrategy],
  [ROLE_BINDING, roleBindingStrategy],
  [SECRET, secretStrategy],
  [SERVICE, serviceStrategy],
  [STATEFUL_SET, statefulSetStrategy],
  [STORAGE_CLASS, storageClassStrategy],
  [VOLUME_ATTACHMENT, volumeAttachmentStrategy],
  [VOLUME_ATTRIBUTES_CLASS, volumeAttributesClassStrategy],
])

const ORDINARY: Strategy = {}

export function strategyOf(kind: Kind): Strategy {
  return STRATEGIES.get(kind) ?? ORDINARY
}

/** The object with what it is given for itself. */
export function allocated({ store }: Registry, kind: Kind, object: KubeObject): KubeObject {
  const { allocate } = strategyOf(kind)
  return allocate === undefined ? object : completed(kind, allocate(store, object))
}
