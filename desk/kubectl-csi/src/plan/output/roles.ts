import type { PlanFinding } from '../finding.ts'
import type { NeededRight } from '../rights/needed.ts'
import { accountOf, type Workload } from '../workload.ts'

interface RuleManifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly [field: string]: unknown
}

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

const API = 'rbac.authorization.k8s.io'

/**
 * Returns the roles and bindings that grant the missing rights, also rights that only some installations need. Secrets
 * are named one by one.
 */
export function roleManifests(workload: Workload, findings: readonly PlanFinding[]): readonly RuleManifest[] {
  const byNamespace = new Map<string | undefined, Rule[]>()
  const add = (namespace: string | undefined, rule: Rule): void => {
    byNamespace.set(namespace, [...(byNamespace.get(namespace) ?? []), rule])
  }
  for (const finding of findings) {
    if (finding.kind === 'missingRight') add(finding.right.namespace, ruleOf(finding.right))
    if (finding.kind === 'missingSecrets') add(finding.namespace, secretRule(finding.names))
    if (finding.kind === 'allSecrets') {
      for (const [namespace, names] of Object.entries(finding.byNamespace)) add(namespace, secretRule(names))
    }
  }
  return [...byNamespace].flatMap(([namespace, rules]) => roleAndBinding(workload, namespace, rules))
}

function ruleOf({ group, resource, verbs }: NeededRight): Rule {
  return { apiGroups: [group], resources: [resource], verbs }
}

function secretRule(names: readonly string[]): Rule {
  return { apiGroups: [''], resources: ['secrets'], resourceNames: names, verbs: ['get'] }
}

function roleAndBinding(
  workload: Workload,
  namespace: string | undefined,
  rules: readonly Rule[],
): readonly RuleManifest[] {
  const kind = namespace === undefined ? 'ClusterRole' : 'Role'
  const name = `${workload.name}-csi-sidecars`
  const metadata = namespace === undefined ? { name: `${workload.namespace}-${name}` } : { name, namespace }
  const subjects = [{ kind: 'ServiceAccount', name: accountOf(workload.pod), namespace: workload.namespace }]
  const apiVersion = `${API}/v1`
  return [
    { apiVersion, kind, metadata, rules },
    { apiVersion, kind: `${kind}Binding`, metadata, roleRef: { apiGroup: API, kind, name: metadata.name }, subjects },
  ]
}
