import { isList, isObject, type Json, sameJson } from '../schema/json.ts'
import { FieldSet, type Path } from './field-set.ts'
import { isBlank, type Part, partsOf, type Structure } from './structure.ts'

/** The fields of a value. */
export function fieldsOf(structure: Structure, value: Json): FieldSet {
  return FieldSet.of(said(structure, value, []))
}

function* said(structure: Structure, value: Json, path: Path): Generator<Path> {
  const parts = partsOf(structure, value)
  if (parts === undefined) {
    if (structure.by === 'whole') yield path
    return
  }
  for (const part of parts) {
    const here = [...path, part.element]
    yield* said(part.structure, part.value, here)
    if (!part.named || (isObject(part.value) && isBlank(part.value))) yield here
  }
}

export interface Comparison {
  readonly added: FieldSet
  readonly modified: FieldSet
  readonly removed: FieldSet
}

/** How the fields of an object have changed. */
export function compare(structure: Structure, before: Json, after: Json): Comparison {
  const found = { added: [] as Path[], modified: [] as Path[], removed: [] as Path[] }
  const walk = (how: Structure, { old, now }: { old: Json | undefined; now: Json | undefined }, path: Path): void => {
    const ended = how.by === 'whole' || (isBlank(old) && isBlank(now))
    if (ended) {
      if (old !== undefined && now !== undefined && !sameJson(old, now)) found.modified.push(path)
    } else {
      const [mine, theirs] = [partsBy(how, old, true), partsBy(how, now, true)]
      for (const element of new Set([...mine.keys(), ...theirs.keys()])) {
        const inner = (mine.get(element) ?? theirs.get(element))?.structure ?? how
        walk(inner, { old: mine.get(element)?.value, now: theirs.get(element)?.value }, [...path, element])
      }
    }
    if (path.length === 0) return
    if (old === undefined) found.added.push(path)
    else if (now === undefined) found.removed.push(path)
  }
  walk(structure, { old: before, now: after }, [])
  const { added, modified, removed } = found
  return { added: FieldSet.of(added), modified: FieldSet.of(modified), removed: FieldSet.of(removed) }
}

function partsBy(structure: Structure, value: Json | undefined, nulls = false): ReadonlyMap<string, Part> {
  return new Map((partsOf(structure, value, nulls) ?? []).map((part) => [part.element, part]))
}

/** The live value with all that the applied one says. */
export function merged(structure: Structure, live: Json | undefined, applied: Json | undefined): Json | undefined {
  if (live === undefined || applied === undefined) return applied ?? live
  if (structure.by === 'whole' || (isBlank(live) && isBlank(applied))) return applied
  if (structure.by === 'items') return mergedItems(structure, live, applied)
  const [mine, theirs] = [partsBy(structure, live), partsBy(structure, applied)]
  const result: Record<string, Json> = {}
  for (const element of new Set([...mine.keys(), ...theirs.keys()])) {
    const part = mine.get(element) ?? theirs.get(element)
    if (part === undefined) continue
    const value = merged(part.structure, mine.get(element)?.value, theirs.get(element)?.value)
    if (value !== undefined) result[element.slice(2)] = value
  }
  return result
}

/** Applied items come in their order; those that only the live list has stay where they are among them. */
function mergedItems(structure: Structure, live: Json, applied: Json): Json {
  const mine = partsBy(structure, live)
  const theirs = partsBy(structure, applied)
  const waiting = [...theirs.values()]
  const result: Json[] = []
  const take = (part: Part): void => {
    const value = merged(part.structure, mine.get(part.element)?.value, part.value)
    if (value !== undefined) result.push(value)
  }
  for (const part of mine.values()) {
    const next = waiting.findIndex(({ element }) => mine.has(element))
    if (!theirs.has(part.element)) result.push(part.value)
    else if (waiting[next]?.element === part.element) waiting.splice(0, next + 1).forEach(take)
  }
  waiting.forEach(take)
  return result
}

/** A value without some of its fields; undefined when nothing is left of a part. */
export function withoutFields(structure: Structure, value: Json, fields: FieldSet): Json | undefined {
  const parts = partsOf(structure, value)
  if (parts === undefined || parts.length === 0 || fields.isEmpty) return value
  const kept = parts.flatMap((part): [string, Json][] => {
    if (fields.has(part.element)) return []
    const below = fields.below(part.element)
    const left = below.isEmpty ? part.value : withoutFields(part.structure, part.value, below)
    return left === undefined ? [] : [[part.element.slice(2), left]]
  })
  if (kept.length === 0) return undefined
  return isList(value) ? kept.map(([, item]) => item) : Object.fromEntries(kept)
}

/** The set with all fields that a type names on the way to those in it; keys and items on the way are not added. */
export function withNamedFields(structure: Structure, value: Json, fields: FieldSet): FieldSet {
  const onTheWay = function* (
    how: Structure,
    here: Json,
    { set, path }: { set: FieldSet; path: Path },
  ): Generator<Path> {
    for (const part of partsOf(how, here) ?? []) {
      const below = set.below(part.element)
      if (below.isEmpty) continue
      const place = [...path, part.element]
      if (part.named) yield place
      yield* onTheWay(part.structure, part.value, { set: below, path: place })
    }
  }
  return fields.union(FieldSet.of(onTheWay(structure, value, { set: fields, path: [] })))
}
