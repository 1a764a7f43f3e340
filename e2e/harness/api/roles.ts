import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, type ClusterRole, type PolicyRule } from '@csi-sidecars/kube-types'
import { APPS } from '@csi-sidecars/sidecars'
import type { App } from '../subject.ts'
import type { Api } from './api.ts'

/** The permissions in the charts of drivers; neither sidecar may need more. */
export const RULES: Readonly<Record<App, readonly PolicyRule[]>> = {
  attacher: [
    { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['get', 'list', 'watch', 'patch'] },
    { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
    { apiGroups: ['storage.k8s.io'], resources: ['csinodes'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments'], verbs: ['get', 'list', 'watch', 'patch'] },
    { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments/status'], verbs: ['patch'] },
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'list', 'watch', 'create', 'update'] },
  ],
  resizer: [
    { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['get', 'list', 'watch', 'patch'] },
    { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: [''], resources: ['persistentvolumeclaims/status'], verbs: ['patch'] },
    { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
    { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
    { apiGroups: ['storage.k8s.io'], resources: ['volumeattributesclasses'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'list', 'watch', 'create', 'update'] },
  ],
}

/** Grants the permissions of the charts to the groups of the token file. */
export async function grant(api: Api): Promise<void> {
  for (const app of APPS) await grantTo(app, `csi-${app}`, { api, rules: RULES[app] })
}

/** Grants one more role to all sidecars of a kind. */
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
