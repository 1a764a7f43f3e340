import { type Json, type JsonObject, listAt, objectAt, textAt } from '../schema/json.ts'

/** As Kubernetes writes a selector: by key, `a=b,c in (d,e),!f`. */
export function selectorText(selector: JsonObject): string {
  const equal = Object.entries(objectAt(selector, 'matchLabels') ?? {}).map(([key, value]) => [key, `${key}=${value}`])
  const others = listAt(selector, 'matchExpressions').map((each) => [textAt(each, 'key') ?? '', expressionText(each)])
  const sorted = [...equal, ...others].sort(([a = ''], [b = '']) => (a < b ? -1 : 1))
  return sorted.map(([, text]) => text).join(',')
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
