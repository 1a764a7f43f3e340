type Json = { readonly [key: string]: unknown }

/** A strategic merge patch as the API applies it to claims and volumes, where only conditions merge by a key. */
export function applyStrategicMerge(target: unknown, patch: unknown): unknown {
  if (!isMap(patch)) return patch
  const result = new Map(isMap(target) ? Object.entries(target) : [])
  for (const [key, change] of Object.entries(patch)) {
    if (key.startsWith('$')) continue
    if (change === null) result.delete(key)
    else if (key === 'conditions') result.set(key, mergeConditions(result.get(key), change))
    else result.set(key, applyStrategicMerge(result.get(key), change))
  }
  const order = patch['$setElementOrder/conditions']
  const conditions = result.get('conditions')
  if (Array.isArray(order) && Array.isArray(conditions)) result.set('conditions', ordered(conditions, order))
  for (const [key, value] of result) if (isEmpty(value)) result.delete(key)
  return Object.fromEntries(result)
}

function mergeConditions(target: unknown, changes: unknown): unknown {
  let result = Array.isArray(target) ? [...target] : []
  for (const change of Array.isArray(changes) ? changes : []) {
    if (change.$patch === 'delete') {
      result = result.filter(({ type }) => type !== change.type)
      continue
    }
    const at = result.findIndex(({ type }) => type === change.type)
    if (at < 0) result.push(change)
    else result[at] = applyStrategicMerge(result[at], change)
  }
  return result
}

function ordered(conditions: readonly Json[], order: readonly Json[]): readonly Json[] {
  const rank = ({ type }: Json): number => {
    const at = order.findIndex((each) => each['type'] === type)
    return at < 0 ? order.length : at
  }
  return [...conditions].sort((a, b) => rank(a) - rank(b))
}

function isMap(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isEmpty(value: unknown): boolean {
  return (Array.isArray(value) && value.length === 0) || (isMap(value) && Object.keys(value).length === 0)
}
