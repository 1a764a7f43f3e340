import type { Kind } from '../schema/kinds.ts'
import { type Field, type FieldType, type Schema, schemaOf } from '../schema/schema.ts'
import type { ListMerge, ListRules } from './strategic-merge.ts'

const REPLACE: ListMerge = { by: 'replace' }
const BY_VALUE: ListMerge = { by: 'value' }

/** How the lists of a kind merge, as its type says. */
export function listRulesOf(kind: Kind): ListRules {
  const schema = schemaOf(kind)
  return (path) => {
    const merge = fieldAt(schema, path)?.merge
    if (merge === undefined) return REPLACE
    return merge.key === undefined ? BY_VALUE : { by: 'key', key: merge.key }
  }
}

function fieldAt(schema: Schema, path: readonly string[]): Field | undefined {
  let field: Field | undefined
  let here: Schema | undefined = schema
  for (const name of path) {
    field = here?.byName.get(name)
    here = field === undefined ? undefined : innerSchema(field.type)
  }
  return field
}

function innerSchema(type: FieldType): Schema | undefined {
  if (type.is === 'object') return type.schema
  return type.is === 'list' || type.is === 'map' ? innerSchema(type.of) : undefined
}
