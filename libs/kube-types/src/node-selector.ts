import type { NodeSelectorRequirement, NodeSelectorTerm } from './objects.ts'

/** The fields of a node that selectors read. */
export interface SelectableNode {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
}

/** The only field of a node that selectors may name. */
export const NAME_FIELD = 'metadata.name'

/** Reports whether the term selects the node, as in the scheduler: it has requirements, and all of them match. */
export function matchesTerm({ matchExpressions, matchFields }: NodeSelectorTerm, node: SelectableNode): boolean {
  const expressions = matchExpressions ?? []
  const fields = matchFields ?? []
  if (expressions.length === 0 && fields.length === 0) return false
  return (
    expressions.every((each) => holds(each, labelOf(node.labels, each.key))) &&
    fields.every((each) => holds(each, each.key === NAME_FIELD ? node.name : undefined))
  )
}

function labelOf(labels: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined
}

function holds({ operator, values }: NodeSelectorRequirement, value: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && (values ?? []).includes(value)
    case 'NotIn':
      return value === undefined || !(values ?? []).includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    case 'Gt':
    case 'Lt':
      return compares(operator, value, values ?? [])
    default:
      // The scheduler refuses a selector with an unknown operator.
      return false
  }
}

function compares(operator: 'Gt' | 'Lt', value: string | undefined, values: readonly string[]): boolean {
  const [limit, ...more] = values.map(wholeNumber)
  const number = wholeNumber(value)
  if (number === undefined || limit === undefined || more.length > 0) return false
  return operator === 'Gt' ? number > limit : number < limit
}

/** Reads a number as Go's `strconv.ParseInt` does. */
function wholeNumber(text: string | undefined): bigint | undefined {
  // regex-bounded: the expression reads the value of a label, of at most 63 characters
  return text !== undefined && /^[+-]?\d+$/.test(text) ? BigInt(text.replace(/^\+/, '')) : undefined
}
