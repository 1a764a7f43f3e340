import type { FieldErrors } from '../http/field-errors.ts'
import { at, isObject, type Json, type KubeObject, listAt, sameJson, textAt } from '../schema/json.ts'
import { pathSegment, subdomain } from './names.ts'
import type { Strategies, Strategy } from './strategy.ts'

const GROUP = 'rbac.authorization.k8s.io'

export const RBAC: Strategies = {
  ClusterRole: roles({ namespaced: false }),
  ClusterRoleBinding: bindings({ namespaced: false }),
  Role: roles({ namespaced: true }),
  RoleBinding: bindings({ namespaced: true }),
}

function roles({ namespaced }: { namespaced: boolean }): Strategy {
  return {
    name: pathSegment,
    validate(errors, object) {
      listAt(object, 'rules').forEach((rule, index) => {
        checkRule(errors, { path: `rules[${index}]`, namespaced }, rule)
      })
    },
  }
}

/** The path of a part in an object, and whether the object is namespaced. */
interface Place {
  readonly path: string
  readonly namespaced: boolean
}

function checkRule(errors: FieldErrors, { path, namespaced }: Place, rule: Json): void {
  if (listAt(rule, 'verbs').length === 0) {
    errors.required(`${path}.verbs`, 'verbs must contain at least one value')
  }
  const urls = listAt(rule, 'nonResourceURLs')
  if (urls.length > 0) {
    const field = `${path}.nonResourceURLs`
    if (namespaced) errors.invalid(field, urls, 'namespaced rules cannot apply to non-resource URLs')
    if (['apiGroups', 'resources', 'resourceNames'].some((part) => listAt(rule, part).length > 0)) {
      errors.invalid(field, urls, 'rules cannot apply to both regular resources and non-resource URLs')
    }
    return
  }
  if (listAt(rule, 'apiGroups').length === 0) {
    errors.required(`${path}.apiGroups`, 'resource rules must supply at least one api group')
  }
  if (listAt(rule, 'resources').length === 0) {
    errors.required(`${path}.resources`, 'resource rules must supply at least one resource')
  }
}

function bindings({ namespaced }: { namespaced: boolean }): Strategy {
  return {
    name: pathSegment,
    defaults: withGroups,
    validate(errors, object) {
      const group = textAt(object, 'roleRef', 'apiGroup') ?? ''
      errors.oneOf('roleRef.apiGroup', group, [GROUP])
      const kinds = namespaced ? ['Role', 'ClusterRole'] : ['ClusterRole']
      errors.oneOf('roleRef.kind', textAt(object, 'roleRef', 'kind') ?? '', kinds)
      const name = textAt(object, 'roleRef', 'name') ?? ''
      if (errors.needed('roleRef.name', name)) errors.checked('roleRef.name', name, pathSegment)
      listAt(object, 'subjects').forEach((subject, index) => {
        checkSubject(errors, { path: `subjects[${index}]`, namespaced }, subject)
      })
    },
    validateUpdate(errors, object, old) {
      if (!sameJson(object['roleRef'], old['roleRef'])) {
        errors.invalid('roleRef', object['roleRef'], 'cannot change roleRef')
      }
    },
  }
}

/** Users, groups and roles are of this group; a writer need not say so. */
function withGroups(object: KubeObject): KubeObject {
  const { roleRef, subjects } = object
  const role = isObject(roleRef) && (roleRef['apiGroup'] ?? '') === '' ? { ...roleRef, apiGroup: GROUP } : roleRef
  const listed = Array.isArray(subjects) ? { subjects: listAt(object, 'subjects').map(withGroup) } : {}
  return { ...object, roleRef: role, ...listed }
}

function withGroup(subject: Json): Json {
  const kind = textAt(subject, 'kind')
  if (!isObject(subject) || (at(subject, 'apiGroup') ?? '') !== '') return subject
  return kind === 'User' || kind === 'Group' ? { ...subject, apiGroup: GROUP } : subject
}

function checkSubject(errors: FieldErrors, { path, namespaced }: Place, subject: Json): void {
  const name = textAt(subject, 'name') ?? ''
  const group = textAt(subject, 'apiGroup') ?? ''
  const kind = textAt(subject, 'kind') ?? ''
  errors.needed(`${path}.name`, name)
  switch (kind) {
    case 'ServiceAccount':
      if (name !== '') errors.checked(`${path}.name`, name, subdomain)
      if (group !== '') errors.unsupported(`${path}.apiGroup`, group, [''])
      if (!namespaced) errors.needed(`${path}.namespace`, textAt(subject, 'namespace'))
      return
    case 'User':
    case 'Group':
      errors.oneOf(`${path}.apiGroup`, group, [GROUP])
      return
    default:
      errors.unsupported(`${path}.kind`, kind, ['ServiceAccount', 'User', 'Group'])
  }
}
