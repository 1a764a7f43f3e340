import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '@csi-sidecars/kube-types'
import type { GrantedRule } from '../rights/granted.ts'

/** The service account of a pod. */
export interface Account {
  readonly namespace: string
  readonly name: string
}

/** Objects about rights. */
export interface RoleObjects {
  readonly clusterRoles: readonly ClusterRole[]
  readonly clusterRoleBindings: readonly ClusterRoleBinding[]
  readonly roles: readonly Role[]
  readonly roleBindings: readonly RoleBinding[]
}

/** A role that a binding names. */
export interface RoleRef {
  readonly kind: string
  readonly name: string
  /** The namespace of the RoleBinding. Undefined for a ClusterRoleBinding. */
  readonly namespace: string | undefined
}

type Subjects = NonNullable<RoleBinding['subjects']>

/** Reports whether a binding applies to the account, by its name or by a group of accounts. */
function bindsTo(subjects: Subjects, account: Account, bindingNamespace: string | undefined): boolean {
  const groups = ['system:authenticated', 'system:serviceaccounts', `system:serviceaccounts:${account.namespace}`]
  const user = `system:serviceaccount:${account.namespace}:${account.name}`
  return subjects.some(({ kind, name, namespace = bindingNamespace }) => {
    if (kind === 'ServiceAccount') return name === account.name && namespace === account.namespace
    return kind === 'Group' ? groups.includes(name) : kind === 'User' && name === user
  })
}

/** Returns the roles that are bound to the account. `namespace` is for manifests that name none. */
export function boundRoles(
  account: Account,
  { clusterRoleBindings, roleBindings }: Pick<RoleObjects, 'clusterRoleBindings' | 'roleBindings'>,
  namespace = account.namespace,
): readonly RoleRef[] {
  const everywhere = clusterRoleBindings
    .filter(({ subjects }) => bindsTo(subjects ?? [], account, namespace))
    .map(({ roleRef }) => ({ kind: roleRef.kind, name: roleRef.name, namespace: undefined }))
  const somewhere = roleBindings.flatMap(({ metadata, roleRef, subjects }) => {
    const ownNamespace = metadata?.namespace ?? namespace
    return bindsTo(subjects ?? [], account, ownNamespace)
      ? [{ kind: roleRef.kind, name: roleRef.name, namespace: ownNamespace }]
      : []
  })
  return [...everywhere, ...somewhere]
}

/** Returns the rules of bound roles. A role that does not exist grants nothing. */
export function grantedRules(
  roleRefs: readonly RoleRef[],
  { clusterRoles, roles }: Pick<RoleObjects, 'clusterRoles' | 'roles'>,
  defaultNamespace: string,
): readonly GrantedRule[] {
  return roleRefs.flatMap(({ kind, name, namespace }) => {
    const found =
      kind === 'ClusterRole'
        ? clusterRoles.find(({ metadata }) => metadata?.name === name)
        : roles.find(
            ({ metadata }) => metadata?.name === name && (metadata.namespace ?? defaultNamespace) === namespace,
          )
    return (found?.rules ?? []).map((rule) => ({ rule, namespace }))
  })
}
