import type { PolicyRule } from '@csi-sidecars/kube-types'

/** A rule that is bound to a service account. */
export interface GrantedRule {
  readonly rule: PolicyRule
  /** The namespace of the RoleBinding. Undefined: all namespaces. */
  readonly namespace: string | undefined
}

/** One access, as the API server authorizes it. */
export interface RequestedAccess {
  readonly group: string
  readonly resource: string
  readonly verb: string
  /** Undefined: all namespaces, or a resource without namespaces. */
  readonly namespace: string | undefined
  /** The name of the object. Undefined: any object. */
  readonly name?: string | undefined
}

/** Reports whether a rule allows the access. */
export function isGranted(granted: readonly GrantedRule[], access: RequestedAccess): boolean {
  return granted.some(({ rule, namespace }) => {
    if (namespace !== undefined && namespace !== access.namespace) return false
    const { apiGroups = [], resources = [], verbs, resourceNames = [] } = rule
    const names = resourceNames ?? []
    return (
      includes(apiGroups, access.group) &&
      (resources ?? []).some((each) => coversResource(each, access.resource)) &&
      includes(verbs, access.verb) &&
      (names.length === 0 || (access.name !== undefined && names.includes(access.name)))
    )
  })
}

function includes(list: readonly string[] | null | undefined, value: string): boolean {
  return list?.some((each) => each === '*' || each === value) === true
}

function coversResource(granted: string, resource: string): boolean {
  if (granted === '*' || granted === resource) return true
  const slash = resource.indexOf('/')
  return slash >= 0 && granted === `*${resource.slice(slash)}`
}
