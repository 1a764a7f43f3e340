import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, type PolicyRule } from '@csi-sidecars/kube-types'
import type { User } from './cluster.ts'
import { clusterRole } from './roles.ts'
import type { World } from './world.ts'

/** A user who may do exactly this; a story that has two such users says what they are. */
export async function userWith(t: World, rules: readonly PolicyRule[], what = 'role'): Promise<User> {
  const user = t.cluster.user('nobody')
  const name = t.name(what)
  await t.create(CLUSTER_ROLES, clusterRole(name, rules))
  await t.create(CLUSTER_ROLE_BINDINGS, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user.name }],
  })
  return user
}
