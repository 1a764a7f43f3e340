import type { JsonMap } from '../schema/json.ts'
import { KINDS } from '../schema/kinds.ts'
import {
  SCHEMAS,
  type Scalar,
  type Schema,
  type SchemaField,
  type SchemaFieldType,
  schemaOf,
} from '../schema/schema.ts'

const QUANTITY = 'io.k8s.apimachinery.pkg.api.resource.Quantity'
const TIME = 'io.k8s.apimachinery.pkg.apis.meta.v1.Time'
const MICRO_TIME = 'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime'
const INT_OR_STRING = 'io.k8s.apimachinery.pkg.util.intstr.IntOrString'
const FIELDS_V1 = 'io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1'

const SCALARS: Readonly<Record<Scalar, JsonMap | string>> = {
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

function refTo(name: string): JsonMap {
  return { allOf: [{ $ref: `#/components/schemas/${name}` }] }
}

function oneOf(...types: readonly string[]): JsonMap {
  return { oneOf: types.map((type) => ({ type })) }
}

/** Returns the OpenAPI definitions of all types, by name. */
export function definitions(): JsonMap {
  const made: Record<string, JsonMap> = {
    [QUANTITY]: oneOf('string', 'number'),
    [TIME]: { type: 'string', format: 'date-time' },
    [MICRO_TIME]: { type: 'string', format: 'date-time' },
    [INT_OR_STRING]: { format: 'int-or-string', ...oneOf('integer', 'string') },
    [FIELDS_V1]: { type: 'object' },
  }
  for (const schema of SCHEMAS.values()) made[definitionName(schema)] = definition(schema)
  for (const { group, version, kind } of KINDS) {
    const name = definitionName(schemaOf({ kind }))
    const typed = { 'x-kubernetes-group-version-kind': [{ group, kind, version }] }
    made[name] = { ...made[name], ...typed, properties: { ...TYPE_META, ...Object(made[name]?.['properties']) } }
  }
  return made
}

const TYPE_META: JsonMap = { apiVersion: { type: 'string' }, kind: { type: 'string' } }

function definition(schema: Schema): JsonMap {
  const required = schema.fields.filter((field) => field.always).map((field) => field.name)
  const properties = Object.fromEntries(schema.fields.map((field) => [field.name, property(field)]))
  return { type: 'object', properties, ...(required.length > 0 ? { required } : {}) }
}

/** Returns the definition of a field. `kubectl apply` reads the merge strategy of a list from it. */
function property({ type, merge }: SchemaField): JsonMap {
  return {
    ...shapeOf(type),
    ...(merge?.key === undefined ? {} : { 'x-kubernetes-patch-merge-key': merge.key }),
    ...(merge === undefined ? {} : { 'x-kubernetes-patch-strategy': merge.retainKeys ? 'merge,retainKeys' : 'merge' }),
  }
}

function shapeOf(type: SchemaFieldType): JsonMap {
  switch (type.kind) {
    case 'object':
      return refTo(definitionName(type.schema))
    case 'list':
      return { type: 'array', items: shapeOf(type.of) }
    case 'map':
      return { type: 'object', additionalProperties: shapeOf(type.of) }
    case 'scalar': {
      const scalar = SCALARS[type.scalar]
      return typeof scalar === 'string' ? refTo(scalar) : scalar
    }
  }
}
