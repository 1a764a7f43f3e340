import type { ServedKind } from '../schema/kinds.ts'
import { innerSchema, type Schema, type SchemaField, schemaOf } from '../schema/schema.ts'
import type { ListRules } from './strategic-merge.ts'

/** How the lists of a kind merge, as its type says. */
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
