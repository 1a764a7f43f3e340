import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { invariant } from '@csi-sidecars/base'
import { bytesOf, writeNested, writeText } from '../../protobuf-write.ts'
import { isObject, type Json, type JsonObject } from '../schema/json.ts'

/** The media type of OpenAPI version 2 in protobuf, as it is answered; clients write its first dot but one as `@`, too. */
export const OPENAPI_PROTOBUF = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'

/** Writes a field, or a whole message, of the value that it has in JSON. */
type Write = (writer: BinaryWriter, value: Json) => void

function text(number: number): Write {
  return (writer, value) => writeText(writer, number, String(value))
}

function flag(number: number): Write {
  return (writer, value) => void writer.tag(number, WireType.Varint).bool(value === true)
}

/** In messages of these numbers, the outermost first. */
function inner(write: Write, ...numbers: readonly number[]): Write {
  return numbers.reduceRight<Write>(
    (inside, number) => (writer, value) => writeNested(writer, number, () => inside(writer, value)),
    write,
  )
}

function each(write: Write): Write {
  return (writer, value) => {
    for (const item of value as readonly Json[]) write(writer, item)
  }
}

/** A map, as messages of this number with a name and a value. */
function named(write: Write, number: number): Write {
  return (writer, value) => {
    for (const [name, item] of Object.entries(value as JsonObject)) {
      writeNested(writer, number, () => {
        text(1)(writer, name)
        inner(write, 2)(writer, item ?? null)
      })
    }
  }
}

/** The fields by their names in JSON, and the number of the extensions `x-...`, whose values are YAML, which JSON is. */
function message(fields: Readonly<Record<string, Write>>, extensions?: number): Write {
  const yaml: Write = (writer, value) => text(2)(writer, JSON.stringify(value))
  return (writer, value) => {
    invariant(isObject(value), 'a message is an object')
    for (const [key, item] of Object.entries(value)) {
      const isExtension = key.startsWith('x-') && extensions !== undefined
      const write = isExtension ? named(yaml, extensions) : fields[key]
      invariant(write !== undefined, `OpenAPI in protobuf has no ${key} here`)
      write(writer, isExtension ? { [key]: item } : (item ?? null))
    }
  }
}

const schema: Write = (writer, value) => SCHEMA(writer, value)
const SCHEMA = message(
  {
    $ref: text(1),
    format: text(2),
    description: text(4),
    required: each(text(19)),
    additionalProperties: inner(schema, 21, 1),
    type: inner(text(1), 22),
    items: inner(schema, 23, 1),
    properties: inner(named(schema, 1), 25),
  },
  31,
)
const parameter = message({ in: text(2), name: text(4), type: text(6), uniqueItems: flag(20) })
const response = message({ description: text(1) })
const operation = message(
  {
    // The messages around it say that it is a parameter, has no body, and belongs to the query.
    parameters: each(inner(parameter, 8, 1, 2, 3)),
    responses: inner(named(inner(response, 1), 1), 9),
  },
  13,
)
const methods = message({
  get: inner(operation, 2),
  put: inner(operation, 3),
  post: inner(operation, 4),
  delete: inner(operation, 5),
  patch: inner(operation, 8),
})
const document = message({
  swagger: text(1),
  info: inner(message({ title: text(1), version: text(2) }), 2),
  paths: inner(named(methods, 2), 8),
  definitions: inner(named(schema, 1), 9),
})

/** A document of OpenAPI version 2 as protobuf. */
export function openApiProtobuf(given: JsonObject): Buffer {
  const writer = new BinaryWriter()
  document(writer, given)
  return bytesOf(writer)
}
