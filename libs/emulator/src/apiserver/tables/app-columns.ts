import { at, type Json, type JsonObject, type KubeObject, listAt, objectAt, textAt } from '../schema/json.ts'
import { AGE, type Column, column, NAME, WIDE } from './cells.ts'

const INTEGER = { type: 'integer' } as const

function number(...path: readonly string[]): (object: KubeObject) => number {
  return (object) => {
    const found = at(object, ...path)
    return typeof found === 'number' ? found : 0
  }
}

export const DEPLOYMENT_COLUMNS: readonly Column[] = [
  NAME,
  column('Ready', (object) => `${number('status', 'readyReplicas')(object)}/${number('spec', 'replicas')(object)}`),
  column('Up-to-date', number('status', 'updatedReplicas'), INTEGER),
  column('Available', number('status', 'availableReplicas'), INTEGER),
  AGE,
  column('Containers', ofContainers('name'), WIDE),
  column('Images', ofContainers('image'), WIDE),
  column('Selector', (object) => selectorText(objectAt(object, 'spec', 'selector') ?? {}), WIDE),
]

export const BUDGET_COLUMNS: readonly Column[] = [
  NAME,
  column('Min Available', (object) => String(at(object, 'spec', 'minAvailable') ?? 'N/A')),
  column('Max Unavailable', (object) => String(at(object, 'spec', 'maxUnavailable') ?? 'N/A')),
  column('Allowed Disruptions', number('status', 'disruptionsAllowed'), INTEGER),
  AGE,
]

function ofContainers(field: string): (object: KubeObject) => string {
  return (object) =>
    listAt(object, 'spec', 'template', 'spec', 'containers')
      .map((container) => textAt(container, field) ?? '')
      .join(',')
}

/** As kubectl writes a selector: by key, `a=b,c in (d,e),!f`. */
function selectorText(selector: JsonObject): string {
  const equal = Object.entries(objectAt(selector, 'matchLabels') ?? {}).map(([key, value]) => [key, `${key}=${value}`])
  const others = listAt(selector, 'matchExpressions').map((each) => [textAt(each, 'key') ?? '', expressionText(each)])
  const sorted = [...equal, ...others].sort(([a = ''], [b = '']) => (a < b ? -1 : 1))
  return sorted.map(([, text]) => text).join(',') || '<none>'
}

function expressionText(expression: Json): string {
  const key = textAt(expression, 'key') ?? ''
  const values = listAt(expression, 'values').map(String).sort().join(',')
  switch (textAt(expression, 'operator')) {
    case 'In':
      return `${key} in (${values})`
    case 'NotIn':
      return `${key} notin (${values})`
    case 'Exists':
      return key
    default:
      return `!${key}`
  }
}
