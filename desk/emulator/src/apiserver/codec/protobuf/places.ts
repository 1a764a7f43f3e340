import type { Schema, SchemaField } from '../../schema/schema.ts'

/** The meaning of a field number: a field, or a nested message whose fields JSON inlines. */
type FieldPlace = { readonly field: SchemaField } | { readonly inline: Places }
/** The meaning of each field number of a type, in the order of the numbers. */
export type Places = ReadonlyMap<number, FieldPlace>

const PLACES = new WeakMap<Schema, Places>()

export function placesOf(schema: Schema): Places {
  const remembered = PLACES.get(schema)
  if (remembered !== undefined) return remembered
  const places = placed(schema.fields.map((field) => ({ field, numbers: field.numbers })))
  PLACES.set(schema, places)
  return places
}

function placed(fields: readonly { readonly field: SchemaField; readonly numbers: readonly number[] }[]): Places {
  const byNumber = Map.groupBy(fields, ({ numbers: [number = 0] }) => number)
  const places = [...byNumber].map(([number, fieldsThere]): [number, FieldPlace] => {
    const inner = fieldsThere.map(({ field, numbers: [, ...rest] }) => ({ field, numbers: rest }))
    const direct = inner.find(({ numbers }) => numbers.length === 0)
    return [number, direct === undefined ? { inline: placed(inner) } : { field: direct.field }]
  })
  return new Map(places.sort(([a], [b]) => a - b))
}
