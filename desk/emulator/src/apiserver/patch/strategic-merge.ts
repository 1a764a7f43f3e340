import { ApiFailure, badRequest } from '../http/api-failure.ts'
import { isList, isObject, type Json, type JsonMap, sameJson, setOwn } from '../schema/json.ts'
import type { ServedKind } from '../schema/kinds.ts'
import { innerSchema, type Schema, type SchemaField, schemaOf } from '../schema/schema.ts'

/** Returns how to merge the list at a path: by `key`, as a set if `key` is undefined, or not at all (undefined). */
export type ListRules = (path: readonly string[]) => { readonly key: string | undefined } | undefined

const DELETE_FROM_LIST = '$deleteFromPrimitiveList/'
const ORDER = '$setElementOrder/'

/** Applies a strategic merge patch of Kubernetes, including directives such as `$patch` and `$retainKeys`. */
export function applyStrategicMerge(target: Json | undefined, patch: Json, rules: ListRules): Json {
  return mergeValue(target, patch, { path: [], rules })
}

/** The current path of a merge inside the object, and the merge strategies of its lists. */
interface MergePath {
  readonly path: readonly string[]
  readonly rules: ListRules
}

function mergeValue(target: Json | undefined, patch: Json, place: MergePath): Json {
  if (!isObject(patch)) return patch
  if (isObject(target)) return mergeMap(target, patch, place)
  // An object that does not exist yet gets all fields of the patch, and `$patch` has no effect.
  const { $patch: _directive, ...fields } = patch
  return mergeMap({}, fields, place)
}

function mergeMap(target: JsonMap, patch: JsonMap, place: MergePath): JsonMap {
  const directive = patch['$patch']
  if (directive === 'replace') return withoutDirectives(patch)
  if (directive === 'delete') return {}
  if (directive !== undefined && directive !== 'merge')
    throw badRequest(`Unknown patch type found: ${String(directive)}`)
  const result: Record<string, Json | undefined> = retained(target, patch)
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined || key === '$patch' || key === '$retainKeys' || key.startsWith(ORDER)) continue
    if (key.startsWith(DELETE_FROM_LIST)) {
      const name = key.slice(DELETE_FROM_LIST.length)
      const gone = isList(value) ? value : []
      const list = result[name]
      if (isList(list)) result[name] = list.filter((item) => !gone.some((each) => sameJson(each, item)))
    } else if (value === null) {
      delete result[key]
    } else {
      setOwn(result, key, mergeField(target[key], patch[key] as Json, { ...place, path: [...place.path, key] }))
    }
  }
  return ordered(result, { target, patch }, place)
}

function mergeField(current: Json | undefined, value: Json, place: MergePath): Json {
  if (!isList(value)) return mergeValue(current, value, place)
  const how = place.rules(place.path)
  if (how === undefined) return value.map((item) => (isObject(item) ? withoutDirectives(item) : item))
  const { key } = how
  const items = isList(current) ? current : []
  if (key !== undefined) return mergeByKey({ items, changes: value }, key, place)
  const merged = [...items, ...value.filter((each) => !items.some((item) => sameJson(item, each)))]
  return inOrder(merged, { order: value, before: items, key })
}

function mergeByKey(
  { items, changes }: { readonly items: readonly Json[]; readonly changes: readonly Json[] },
  key: string,
  place: MergePath,
): readonly Json[] {
  if (changes.some((change) => isObject(change) && change['$patch'] === 'replace')) {
    return changes.filter((change) => !(isObject(change) && '$patch' in change))
  }
  let result = [...items]
  const kept: Json[] = []
  for (const change of changes) {
    if (!isObject(change)) throw badRequest(`expected a map in the list at ${place.path.join('.')}`)
    if (change[key] === undefined) {
      throw new ApiFailure('', `map: ${goText(change)} does not contain declared merge key: ${key}`)
    }
    const same = (item: Json): boolean => isObject(item) && sameJson(item[key], change[key])
    if (change['$patch'] === 'delete') {
      result = result.filter((item) => !same(item))
      continue
    }
    kept.push(change)
    const index = result.findIndex(same)
    const merged = mergeMap((index < 0 ? {} : result[index]) as JsonMap, change, place)
    if (index < 0) result.push(merged)
    else result[index] = merged
  }
  return inOrder(result, { order: kept, before: items, key })
}

/** Returns a value as Go prints it. */
function goText(value: Json | undefined): string {
  if (isList(value)) return `[${value.map(goText).join(' ')}]`
  if (!isObject(value)) return value === null || value === undefined ? '<nil>' : String(value)
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `map[${fields.map(([key, inner]) => `${key}:${goText(inner)}`).join(' ')}]`
}

/** Returns the fields of the target that `$retainKeys` allows to stay. Without this directive, all fields stay. */
function retained(target: JsonMap, patch: JsonMap): Record<string, Json | undefined> {
  const retainKeys = patch['$retainKeys']
  if (!isList(retainKeys)) return { ...target }
  return Object.fromEntries(Object.entries(target).filter(([key]) => retainKeys.includes(key)))
}

/** Sorts the lists for which the patch has a `$setElementOrder` directive. */
function ordered(
  result: Record<string, Json | undefined>,
  { target, patch }: { readonly target: JsonMap; readonly patch: JsonMap },
  place: MergePath,
): JsonMap {
  for (const [directive, order] of Object.entries(patch)) {
    if (!directive.startsWith(ORDER) || !isList(order)) continue
    const name = directive.slice(ORDER.length)
    const list = result[name]
    if (!isList(list)) continue
    const before = isList(target[name]) ? target[name] : []
    result[name] = inOrder(list, { order, before, key: place.rules([...place.path, name])?.key })
  }
  return result
}

interface Ordering {
  /** The items in the requested order. An item may consist of its merge key only. */
  readonly order: readonly Json[]
  /** The list before the patch. */
  readonly before: readonly Json[]
  readonly key: string | undefined
}

/**
 * Sorts the items that `order` names. Any other item is put before the first named item that it preceded in `before`,
 * or at the end.
 */
function inOrder(list: readonly Json[], { order, before, key }: Ordering): readonly Json[] {
  const keyOf = (item: Json): Json | undefined => (key !== undefined && isObject(item) ? item[key] : item)
  const indexIn = (items: readonly Json[], item: Json): number =>
    items.findIndex((each) => sameJson(keyOf(each), keyOf(item)))
  const by = (items: readonly Json[]) => (a: Json, b: Json) => indexIn(items, a) - indexIn(items, b)
  const ordered = list.filter((item) => indexIn(order, item) >= 0).sort(by(order))
  const others = list.filter((item) => indexIn(order, item) < 0).sort(by(before))
  const result: Json[] = []
  for (const item of ordered) {
    while (others.length > 0 && wasInFront(others[0] as Json, item)) result.push(others.shift() as Json)
    result.push(item)
  }
  return [...result, ...others]

  function wasInFront(other: Json, item: Json): boolean {
    const place = indexIn(before, item)
    return place >= 0 && indexIn(before, other) < place
  }
}

function withoutDirectives(map: JsonMap): JsonMap {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !key.startsWith('$')))
}

/** Returns the merge strategies of the lists of a kind. */
export function listRulesOf(kind: ServedKind): ListRules {
  const schema = schemaOf(kind)
  return (path) => fieldAt(schema, path)?.merge
}

function fieldAt(schema: Schema, path: readonly string[]): SchemaField | undefined {
  let field: SchemaField | undefined
  let here: Schema | undefined = schema
  for (const name of path) {
    field = here?.byName.get(name)
    here = field === undefined ? undefined : innerSchema(field.type)
  }
  return field
}
