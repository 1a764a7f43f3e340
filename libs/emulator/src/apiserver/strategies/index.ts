import {
  CLUSTER_ROLE,
  CLUSTER_ROLE_BINDING,
  CONFIG_MAP,
  CSI_DRIVER,
  CSI_NODE,
  CSI_STORAGE_CAPACITY,
  DEPLOYMENT,
  EVENT,
  type Kind,
  LEASE,
  NAMESPACE,
  NODE,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  POD_DISRUPTION_BUDGET,
  ROLE,
  ROLE_BINDING,
  SECRET,
  STORAGE_CLASS,
  VOLUME_ATTACHMENT,
  VOLUME_ATTRIBUTES_CLASS,
} from '../schema/kinds.ts'
import { deploymentStrategy, podDisruptionBudgetStrategy } from './apps.ts'
import { storageClassStrategy, volumeAttributesClassStrategy } from './classes.ts'
import { configMapStrategy, eventStrategy, namespaceStrategy, nodeStrategy, secretStrategy } from './core.ts'
import { csiDriverStrategy, csiNodeStrategy, csiStorageCapacityStrategy } from './csi.ts'
import { leaseStrategy } from './lease.ts'
import { persistentVolumeStrategy } from './persistent-volume.ts'
import { persistentVolumeClaimStrategy } from './persistent-volume-claim.ts'
import { podStrategy } from './pod.ts'
import { clusterRoleBindingStrategy, clusterRoleStrategy, roleBindingStrategy, roleStrategy } from './rbac.ts'
import type { Strategy } from './strategy.ts'
import { volumeAttachmentStrategy } from './volume-attachment.ts'

const STRATEGIES = new Map<Kind, Strategy>([
  [CLUSTER_ROLE, clusterRoleStrategy],
  [CLUSTER_ROLE_BINDING, clusterRoleBindingStrategy],
  [CONFIG_MAP, configMapStrategy],
  [CSI_DRIVER, csiDriverStrategy],
  [CSI_NODE, csiNodeStrategy],
  [CSI_STORAGE_CAPACITY, csiStorageCapacityStrategy],
  [DEPLOYMENT, deploymentStrategy],
  [EVENT, eventStrategy],
  [LEASE, leaseStrategy],
  [NAMESPACE, namespaceStrategy],
  [NODE, nodeStrategy],
  [PERSISTENT_VOLUME, persistentVolumeStrategy],
  [PERSISTENT_VOLUME_CLAIM, persistentVolumeClaimStrategy],
  [POD, podStrategy],
  [POD_DISRUPTION_BUDGET, podDisruptionBudgetStrategy],
  [ROLE, roleStrategy],
  [ROLE_BINDING, roleBindingStrategy],
  [SECRET, secretStrategy],
  [STORAGE_CLASS, storageClassStrategy],
  [VOLUME_ATTACHMENT, volumeAttachmentStrategy],
  [VOLUME_ATTRIBUTES_CLASS, volumeAttributesClassStrategy],
])

const ORDINARY: Strategy = {}

export function strategyOf(kind: Kind): Strategy {
  return STRATEGIES.get(kind) ?? ORDINARY
}
