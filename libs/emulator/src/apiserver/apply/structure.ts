import { isList, isObject, type Json, type JsonObject } from '../schema/json.ts'
import { isOwnedWhole, ownershipOf } from '../schema/ownership.ts'
import type { Field, FieldType, Schema } from '../schema/schema.ts'
import type { PathElement } from './field-set.ts'

/** How a value is owned: as a whole, field by field, key by key, or item by item. */
export type Structure =
  | { readonly by: 'whole' }
  | { readonly by: 'fields'; readonly schema: Schema }
  | { readonly by: 'keys'; readonly of: Structure }
  | { readonly by: 'items'; readonly keys: readonly string[]; readonly of: Structure }

const WHOLE: Structure = { by: 'whole' }

export function structureOf(schema: Schema): Structure {
  return isOwnedWhole(schema) ? WHOLE : { by: 'fields', schema }
}

function ofType(type: FieldType): Structure {
  switch (type.is) {
    case 'object':
      return structureOf(type.schema)
    case 'map':
      return { by: 'keys', of: ofType(type.of) }
    default:
      return WHOLE
  }
}

function ofField(schema: Schema, field: Field): Structure {
  const { type } = field
  const owned = ownershipOf(schema, field)
  if (owned === 'whole') return WHOLE
  if (owned === 'fields' && type.is === 'object') return { by: 'fields', schema: type.schema }
  if (typeof owned !== 'object' || type.is !== 'list') return ofType(type)
  return { by: 'items', keys: owned, of: ofType(type.of) }
}

/** One part of a value: the step to it, how it is owned, and whether its type names it. */
export interface Part {
  readonly element: PathElement
  readonly structure: Structure
  readonly named: boolean
  readonly value: Json
}

/**
 * What a value is made of; undefined when it is owned as a whole, or is not of its type. A field that is null says
 * nothing, but is there: `nulls` shows it, too.
 */
export function partsOf(structure: Structure, value: Json | undefined, nulls = false): readonly Part[] | undefined {
  switch (structure.by) {
    case 'whole':
      return undefined
    case 'items':
      return isList(value) ? value.map((item) => itemPart(structure, item)) : undefined
    default:
      return isObject(value) ? fieldParts(structure, value, nulls) : undefined
  }
}

function fieldParts(
  structure: Exclude<Structure, { by: 'whole' | 'items' }>,
  value: JsonObject,
  nulls: boolean,
): readonly Part[] {
  return Object.entries(value).flatMap(([key, item]) => {
    if (item === undefined || (item === null && !nulls)) return []
    const element = `f:${key}`
    if (structure.by === 'keys') return [{ element, structure: structure.of, named: false, value: item }]
    const field = structure.schema.byName.get(key)
    const inner = field === undefined ? WHOLE : ofField(structure.schema, field)
    return [{ element, structure: inner, named: field !== undefined, value: item }]
  })
}

/** What a key is when an item does not say it. */
const KEY_DEFAULTS: JsonObject = { protocol: 'TCP' }

function itemPart({ keys, of }: Extract<Structure, { by: 'items' }>, value: Json): Part {
  if (keys.length === 0) return { element: `v:${JSON.stringify(value)}`, structure: of, named: false, value }
  const item = isObject(value) ? value : {}
  const named = keys.map((key) => [key, item[key] ?? KEY_DEFAULTS[key]])
  return { element: `k:${JSON.stringify(Object.fromEntries(named))}`, structure: of, named: false, value }
}

/** Empty, or nothing at all. */
export function isBlank(value: Json | undefined): boolean {
  if (value === undefined || value === null) return true
  return isList(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0
}
