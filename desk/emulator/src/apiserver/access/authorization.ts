import { ApiFailure, forbidden } from '../http/api-failure.ts'
import type { RequestInfo } from '../http/request-info.ts'
import { type ApiObject, type Json, listAt, textAt } from '../schema/json.ts'
import { CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING } from '../schema/kinds.ts'
import type { Store } from '../storage/store.ts'
import type { AuthenticatedUser } from './authentication.ts'

/** The facts of a request that RBAC checks. */
export type Access =
  | {
      readonly type: 'resource'
      readonly verb: string
      readonly group: string
      /** The resource in RBAC notation, such as `pods` or `pods/status`. */
      readonly resource: string
      readonly namespace: string | undefined
      readonly name: string | undefined
    }
  | { readonly type: 'path'; readonly verb: string; readonly path: string }

interface Decision {
  readonly allowed: boolean
  /** The reason why the request is allowed: a sentence with the name of the RBAC binding. */
  readonly reason?: string
}

const MASTERS = 'system:masters'

/** Decides like RBAC: a role that is bound to the user, or to a group of the user, must allow the request. */
export function decide(store: Store, user: AuthenticatedUser, access: Access): Decision {
  if (user.groups.includes(MASTERS)) return { allowed: true }
  const namespace = access.type === 'resource' ? access.namespace : undefined
  for (const kind of [CLUSTER_ROLE_BINDING, ROLE_BINDING]) {
    for (const { object } of store.of(kind).entries()) {
      if (object.metadata.namespace !== undefined && object.metadata.namespace !== namespace) continue
      const decision = byBinding(store, object, { user, access })
      if (decision !== undefined) return decision
    }
  }
  return { allowed: false }
}

function byBinding(
  store: Store,
  binding: ApiObject,
  { user, access }: { readonly user: AuthenticatedUser; readonly access: Access },
): Decision | undefined {
  const subject = listAt(binding, 'subjects').find((each) => isSubject(each, user, binding.metadata.namespace))
  if (subject === undefined) return undefined
  const kind = textAt(binding, 'roleRef', 'kind') ?? ''
  const name = textAt(binding, 'roleRef', 'name') ?? ''
  const { namespace } = binding.metadata
  const role = kind === 'Role' ? store.of(ROLE).get(`${namespace}/${name}`) : store.of(CLUSTER_ROLE).get(name)
  if (!listAt(role?.object, 'rules').some((rule) => allows(rule, access))) return undefined
  const bindingKind = namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding'
  const full = namespace === undefined ? binding.metadata.name : `${binding.metadata.name}/${namespace}`
  const who = `${textAt(subject, 'kind')} ${JSON.stringify(subjectName(subject))}`
  return {
    allowed: true,
    reason: `RBAC: allowed by ${bindingKind} ${JSON.stringify(full)} of ${kind} ${JSON.stringify(name)} to ${who}`,
  }
}

function subjectName(subject: Json): string {
  const name = textAt(subject, 'name') ?? ''
  return textAt(subject, 'kind') === 'ServiceAccount' ? `${name}/${textAt(subject, 'namespace') ?? ''}` : name
}

function isSubject(subject: Json, user: AuthenticatedUser, bindingNamespace: string | undefined): boolean {
  const name = textAt(subject, 'name') ?? ''
  switch (textAt(subject, 'kind')) {
    case 'User':
      return user.name === name
    case 'Group':
      return user.groups.includes(name)
    case 'ServiceAccount': {
      const namespace = textAt(subject, 'namespace') ?? bindingNamespace ?? ''
      return user.name === `system:serviceaccount:${namespace}:${name}`
    }
    default:
      return false
  }
}

function allows(rule: Json, access: Access): boolean {
  const names = (field: string): readonly Json[] => listAt(rule, field)
  const has = (field: string, value: string): boolean => names(field).includes('*') || names(field).includes(value)
  if (!has('verbs', access.verb)) return false
  if (access.type === 'path') return names('nonResourceURLs').some((pattern) => covers(String(pattern), access.path))
  const [, subresource] = access.resource.split('/')
  const byResource = has('resources', access.resource) || names('resources').includes(`*/${subresource ?? ''}`)
  const only = names('resourceNames')
  return has('apiGroups', access.group) && byResource && (only.length === 0 || only.includes(access.name ?? ''))
}

function covers(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : pattern === path
}

/** Returns the verb and the resource that RBAC must allow for a request. */
export function accessOf(info: RequestInfo, query: URLSearchParams): Access {
  if (info.type === 'path') return { type: 'path', verb: info.verb, path: info.path }
  const { verb, group, plural, subresource } = info
  // RBAC treats the Namespace object `x` as an object in the namespace `x`.
  const namespace = group === '' && plural === 'namespaces' ? info.name : info.namespace
  const resource = subresource === undefined ? plural : `${plural}/${subresource}`
  return { type: 'resource', verb, group, resource, namespace, name: info.name ?? selectedName(query) }
}

/** Returns NAME for the field selector `metadata.name=NAME`. The user needs permission for this object only. */
function selectedName(query: URLSearchParams): string | undefined {
  return /^metadata\.name=([^,]+)$/.exec(query.get('fieldSelector') ?? '')?.[1]
}

/** Throws 403 with the message of kube-apiserver if the user may not send the request. */
export function requireAccess(store: Store, user: AuthenticatedUser, access: Access): void {
  if (decide(store, user, access).allowed) return
  const who = `User ${JSON.stringify(user.name)} cannot ${access.verb}`
  if (access.type === 'path') {
    throw new ApiFailure('Forbidden', `forbidden: ${who} path ${JSON.stringify(access.path)}`, { details: {} })
  }
  const { group, resource, namespace, name = '' } = access
  const place = namespace === undefined ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`
  const target = `resource ${JSON.stringify(resource)} in API group ${JSON.stringify(group)} ${place}`
  const [plural = ''] = resource.split('/')
  throw forbidden({ group, plural }, name, `${who} ${target}`)
}
