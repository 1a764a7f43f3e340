import type { V1ClusterRole, V1ClusterRoleBinding, V1PolicyRule, V1Role, V1RoleBinding } from '@kubernetes/client-node'
import type { Wire } from './wire.ts'

export type ClusterRole = Wire<V1ClusterRole>
export type ClusterRoleBinding = Wire<V1ClusterRoleBinding>
export type PolicyRule = Wire<V1PolicyRule>
export type Role = Wire<V1Role>
export type RoleBinding = Wire<V1RoleBinding>
