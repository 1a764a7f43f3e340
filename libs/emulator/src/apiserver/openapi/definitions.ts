import type { JsonObject } from '../schema/json.ts'
import { KINDS } from '../schema/kinds.ts'
import { isOwnedWhole, ownershipOf } from '../schema/ownership.ts'
import { type Field, type FieldType, SCHEMAS, type Scalar, type Schema, schemaOf } from '../schema/schema.ts'

/** How a version of OpenAPI says that a type is another one, and that a value has one of some types. */
interface Dialect {
  readonly refTo: (name: string) => JsonObject
  readonly oneOf: (...types: readonly string[]) => JsonObject
}

const QUANTITY = 'io.k8s.apimachinery.pkg.api.resource.Quantity'
const TIME = 'io.k8s.apimachinery.pkg.apis.meta.v1.Time'
const MICRO_TIME = 'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime'
const INT_OR_STRING = 'io.k8s.apimachinery.pkg.util.intstr.IntOrString'
const LIST_META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta'
const FIELDS_V1 = 'io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1'

const SCALARS: Readonly<Record<Scalar, JsonObject | string>> = {
  string: { type: 'string' },
  bool: { type: 'boolean' },
  int: { type: 'integer', format: 'int32' },
  long: { type: 'integer', format: 'int64' },
  bytes: { type: 'string', format: 'byte' },
  quantity: QUANTITY,
  time: TIME,
  microtime: MICRO_TIME,
  intOrString: INT_OR_STRING,
  any: FIELDS_V1,
}

function definitionName(schema: Schema): string {
  return `${schema.package}.${schema.name}`
}

/** Every type, by its name in OpenAPI. */
export function definitions(dialect: Dialect): JsonObject {
  const { refTo, oneOf } = dialect
  const made: Record<string, JsonObject> = {
    [QUANTITY]: oneOf('string', 'number'),
    [TIME]: { type: 'string', format: 'date-time' },
    [MICRO_TIME]: { type: 'string', format: 'date-time' },
    [INT_OR_STRING]: { format: 'int-or-string', ...oneOf('integer', 'string') },
    [FIELDS_V1]: { type: 'object' },
  }
  for (const schema of SCHEMAS.values()) made[definitionName(schema)] = definition(schema, refTo)
  for (const { group, version, kind } of KINDS) {
    const name = definitionName(schemaOf({ kind }))
    const typed = (of: string): JsonObject => ({ 'x-kubernetes-group-version-kind': [{ group, kind: of, version }] })
    made[name] = { ...made[name], ...typed(kind), properties: { ...TYPE_META, ...Object(made[name]?.['properties']) } }
    made[`${name}List`] = {
      type: 'object',
      required: ['items'],
      properties: { ...TYPE_META, items: { type: 'array', items: refTo(name) }, metadata: refTo(LIST_META) },
      ...typed(`${kind}List`),
    }
  }
  return made
}

const TYPE_META: JsonObject = { apiVersion: { type: 'string' }, kind: { type: 'string' } }

function definition(schema: Schema, refTo: Dialect['refTo']): JsonObject {
  const required = schema.fields.filter((field) => field.always).map((field) => field.name)
  const properties = Object.fromEntries(schema.fields.map((field) => [field.name, property(schema, field, refTo)]))
  const whole = isOwnedWhole(schema) ? { 'x-kubernetes-map-type': 'atomic' } : {}
  return { type: 'object', properties, ...(required.length > 0 ? { required } : {}), ...whole }
}

/** Who merges, and who applies on a server's behalf, reads here how: a list may be patched in one way and owned in another. */
function property(schema: Schema, field: Field, refTo: Dialect['refTo']): JsonObject {
  const { type, merge } = field
  const owned = ownershipOf(schema, field)
  const keys = typeof owned === 'object' ? owned : []
  const listType = owned === 'whole' ? 'atomic' : keys.length === 0 ? 'set' : 'map'
  return {
    ...shapeOf(type, refTo),
    ...(keys.length === 0 ? {} : { 'x-kubernetes-list-map-keys': keys }),
    ...(type.is === 'list' ? { 'x-kubernetes-list-type': listType } : {}),
    ...(type.is === 'map' && owned === 'whole' ? { 'x-kubernetes-map-type': 'atomic' } : {}),
    ...(owned === 'fields' ? { 'x-kubernetes-map-type': 'granular' } : {}),
    ...(merge?.key === undefined ? {} : { 'x-kubernetes-patch-merge-key': merge.key }),
    ...(merge === undefined ? {} : { 'x-kubernetes-patch-strategy': merge.retainKeys ? 'merge,retainKeys' : 'merge' }),
  }
}

function shapeOf(type: FieldType, refTo: Dialect['refTo']): JsonObject {
  switch (type.is) {
    case 'object':
      return refTo(definitionName(type.schema))
    case 'list':
      return { type: 'array', items: shapeOf(type.of, refTo) }
    case 'map':
      return { type: 'object', additionalProperties: shapeOf(type.of, refTo) }
    case 'scalar': {
      const scalar = SCALARS[type.scalar]
      return typeof scalar === 'string' ? refTo(scalar) : scalar
    }
  }
}
