import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  type ClusterRole,
  type ClusterRoleBinding,
  type PolicyRule,
} from '@csi-sidecars/kube-types'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import type { TestContext } from '../context.ts'
import { SUBJECTS, type TestedApp } from '../subject.ts'
import type { Api } from './api.ts'
import type { User } from './cluster.ts'

/** Grants the users of each sidecar the RBAC rules of the sidecar's chart. */
export async function grant(api: Api): Promise<void> {
  for (const { app } of SUBJECTS) await grantTo(app, `csi-${app}`, { api, rules: FACTS[app].rules })
}

/** Grants one more role to the users of a sidecar. */
export async function grantTo(
  app: TestedApp,
  name: string,
  { api, rules }: { readonly api: Api; readonly rules: readonly PolicyRule[] },
): Promise<void> {
  await api.create(CLUSTER_ROLES, clusterRole(name, rules))
  await api.create(CLUSTER_ROLE_BINDINGS, binding(`${name}s`, name, { kind: 'Group', name: `csi-${app}s` }))
}

/** Creates a user with exactly these permissions. `what` names the role if a test has two such users. */
export async function userWith(t: TestContext, rules: readonly PolicyRule[], roleName = 'role'): Promise<User> {
  const user = t.cluster.user('none')
  const name = t.name(roleName)
  await t.create(CLUSTER_ROLES, clusterRole(name, rules))
  await t.create(CLUSTER_ROLE_BINDINGS, binding(name, name, { kind: 'User', name: user.name }))
  return user
}

const apiGroup = 'rbac.authorization.k8s.io'
const apiVersion = `${apiGroup}/v1`

function clusterRole(name: string, rules: readonly PolicyRule[]): ClusterRole {
  return { apiVersion, kind: 'ClusterRole', metadata: { name }, rules }
}

function binding(name: string, role: string, subject: { kind: string; name: string }): ClusterRoleBinding {
  const roleRef = { apiGroup, kind: 'ClusterRole', name: role }
  return { apiVersion, kind: 'ClusterRoleBinding', metadata: { name }, roleRef, subjects: [{ apiGroup, ...subject }] }
}
