import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, type PolicyRule } from '@csi-sidecars/kube-types'
import type { TestContext } from '../context.ts'
import type { User } from './cluster.ts'
import { clusterRole } from './roles.ts'

/** Creates a user with exactly these permissions. `what` names the role if a test has two such users. */
export async function userWith(t: TestContext, rules: readonly PolicyRule[], what = 'role'): Promise<User> {
  const user = t.cluster.user('none')
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
