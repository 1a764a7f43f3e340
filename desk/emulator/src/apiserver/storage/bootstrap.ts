import { type ApiObject, withMeta } from '../schema/json.ts'
import { CLUSTER_ROLE, CLUSTER_ROLE_BINDING, groupVersionOf, NAMESPACE, type ServedKind } from '../schema/kinds.ts'
import { completed } from '../schema/typed.ts'
import { type ObjectRegistry, systemFields } from './registry.ts'

const NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease']
const DISCOVERY = [
  '/api',
  '/api/*',
  '/apis',
  '/apis/*',
  '/healthz',
  '/livez',
  '/openapi',
  '/openapi/*',
  '/readyz',
  '/version',
  '/version/',
]
const EVERYTHING = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

/** A built-in ClusterRole, and the groups that it is bound to. */
interface Granted {
  readonly name: string
  readonly rules: ApiObject['rules']
  readonly groups: readonly string[]
}

/** The built-in ClusterRoles of kube-apiserver that the emulator has. */
const ROLES: readonly Granted[] = [
  { name: 'cluster-admin', rules: EVERYTHING, groups: ['system:masters'] },
  {
    name: 'system:basic-user',
    rules: [
      {
        verbs: ['create'],
        apiGroups: ['authorization.k8s.io'],
        resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
      },
      { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'] },
    ],
    groups: ['system:authenticated'],
  },
  {
    name: 'system:discovery',
    rules: [{ verbs: ['get'], nonResourceURLs: DISCOVERY }],
    groups: ['system:authenticated'],
  },
  {
    name: 'system:public-info-viewer',
    rules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/livez', '/readyz', '/version', '/version/'] }],
    groups: ['system:authenticated', 'system:unauthenticated'],
  },
]

/** Stores the namespaces and roles of a new server. Existing objects stay. */
export function bootstrap(registry: ObjectRegistry): void {
  for (const name of NAMESPACES) ensureNamespace(registry, name)
  for (const { name, rules, groups } of ROLES) {
    const subjects = groups.map((group) => ({ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: group }))
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name }
    ensure(registry, CLUSTER_ROLE, { metadata: bootstrapped(name), rules })
    ensure(registry, CLUSTER_ROLE_BINDING, { metadata: bootstrapped(name), subjects, roleRef })
  }
}

export function ensureNamespace(registry: ObjectRegistry, name: string): void {
  const metadata = { name, labels: { 'kubernetes.io/metadata.name': name } }
  ensure(registry, NAMESPACE, { metadata, spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active' } })
}

function bootstrapped(name: string): ApiObject['metadata'] {
  return {
    name,
    labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' },
    annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
  }
}

function ensure(registry: ObjectRegistry, kind: ServedKind, object: ApiObject): void {
  const name = object.metadata.name ?? ''
  if (registry.store.of(kind).get(name) !== undefined) return
  const typed = { apiVersion: groupVersionOf(kind), kind: kind.kind, ...object }
  registry.store.upsert(kind, name, completed(kind, withMeta(typed, systemFields(registry))))
}
