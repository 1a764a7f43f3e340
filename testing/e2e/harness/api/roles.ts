import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, type ClusterRole, type PolicyRule } from '@csi-sidecars/kube-types'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import type { App } from '../subject.ts'
import { SUBJECTS } from '../subject.ts'
import type { Api } from './api.ts'

/** Grants each sidecar's group of users the permissions of its chart. */
export async function grant(api: Api): Promise<void> {
  for (const { app } of SUBJECTS) await grantTo(app, `csi-${app}`, { api, rules: FACTS[app].rules })
}

/** Grants one more role to the group of users of a sidecar. */
export async function grantTo(
  app: App,
  name: string,
  { api, rules }: { readonly api: Api; readonly rules: readonly PolicyRule[] },
): Promise<void> {
  await api.create(CLUSTER_ROLES, clusterRole(name, rules))
  await api.create(CLUSTER_ROLE_BINDINGS, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: `${name}s` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: `csi-${app}s` }],
  })
}

export function clusterRole(name: string, rules: readonly PolicyRule[]): ClusterRole {
  return { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules }
}
