import { type ApiObject, at, isObject, type Json, listAt, sameJson, textAt } from '../schema/json.ts'
import { pathSegment, subdomain } from './names.ts'
import { all, type FieldRule, fields, items, named, needed, oneOf } from './rules.ts'
import type { Strategies, Strategy } from './strategy.ts'

const GROUP = 'rbac.authorization.k8s.io'

export const RBAC: Strategies = {
  ClusterRole: roles({ namespaced: false }),
  ClusterRoleBinding: bindings({ namespaced: false }),
  Role: roles({ namespaced: true }),
  RoleBinding: bindings({ namespaced: true }),
}

function roles({ namespaced }: { namespaced: boolean }): Strategy {
  return { name: pathSegment, rules: fields({ rules: items(() => ruleOf(namespaced)) }) }
}

function ruleOf(namespaced: boolean): FieldRule {
  return (errors, path, rule) => {
    if (listAt(rule, 'verbs').length === 0) errors.required(`${path}.verbs`, 'verbs must contain at least one value')
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
}

function bindings({ namespaced }: { namespaced: boolean }): Strategy {
  return {
    name: pathSegment,
    defaults: withGroups,
    rules: fields({
      roleRef: fields({
        apiGroup: oneOf(GROUP),
        kind: namespaced ? oneOf('Role', 'ClusterRole') : oneOf('ClusterRole'),
        name: named(pathSegment),
      }),
      subjects: items(() => subjectOf(namespaced)),
    }),
    validateUpdate(errors, object, old) {
      if (!sameJson(object['roleRef'], old['roleRef'])) {
        errors.invalid('roleRef', object['roleRef'], 'cannot change roleRef')
      }
    },
  }
}

/** Sets the API group of the role, users and groups in a binding if the writer omits it. */
function withGroups(object: ApiObject): ApiObject {
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

function subjectOf(namespaced: boolean): FieldRule {
  const person = fields({ name: needed, apiGroup: oneOf(GROUP) })
  const account = fields({ name: named(subdomain), apiGroup: oneOf('') })
  const byKind = new Map<Json | undefined, FieldRule>([
    ['ServiceAccount', namespaced ? account : all(account, fields({ namespace: needed }))],
    ['User', person],
    ['Group', person],
  ])
  const other = fields({ name: needed, kind: oneOf('ServiceAccount', 'User', 'Group') })
  return (errors, path, subject) => (byKind.get(at(subject, 'kind')) ?? other)(errors, path, subject)
}
