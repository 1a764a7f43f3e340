import type { NodeSelector, NodeSelectorRequirement, PersistentVolumeClaimSpec } from '@csi-sidecars/kube-types'

type Labels = Readonly<Record<string, string>>
type LabelSelector = PersistentVolumeClaimSpec['selector']

/** Reports whether the labels satisfy a label selector. A missing selector accepts all labels. */
export function matchesLabels(selector: LabelSelector, labels: Labels): boolean {
  const { matchLabels, matchExpressions } = selector ?? {}
  const same = Object.entries(matchLabels ?? {}).every(([key, value]) => labels[key] === value)
  return same && (matchExpressions ?? []).every((requirement) => satisfies(requirement, labels[requirement.key]))
}

/** Reports whether a node satisfies a required node affinity: all requirements of at least one term. */
export function matchesNode(
  required: NodeSelector | undefined,
  node: { readonly name: string; readonly labels: Labels },
): boolean {
  if (required === undefined) return true
  return (required.nodeSelectorTerms ?? []).some(({ matchExpressions = [], matchFields = [] }) => {
    // An empty term matches no node.
    if (matchExpressions.length + matchFields.length === 0) return false
    const byLabel = matchExpressions.every((requirement) => satisfies(requirement, node.labels[requirement.key]))
    return byLabel && matchFields.every((requirement) => satisfies(requirement, fieldOf(node, requirement.key)))
  })
}

function fieldOf(node: { readonly name: string }, key: string): string | undefined {
  return key === 'metadata.name' ? node.name : undefined
}

function satisfies(
  { operator, values = [] }: Pick<NodeSelectorRequirement, 'operator' | 'values'>,
  value: string | undefined,
): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    case 'Gt':
      return value !== undefined && Number(value) > Number(values[0])
    case 'Lt':
      return value !== undefined && Number(value) < Number(values[0])
    default:
      return false
  }
}
