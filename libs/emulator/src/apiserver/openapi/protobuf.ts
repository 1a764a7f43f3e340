import { invariant } from '@csi-sidecars/base'
import { bytesField, textField, varintField } from '../../protobuf-write.ts'
import { isObject, type Json, type JsonObject } from '../schema/json.ts'

/** The media type of OpenAPI version 2 in protobuf, as it is answered; clients write its first dot but one as `@`, too. */
export const OPENAPI_PROTOBUF = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'

/** One field of a message, with the value that it has in JSON. */
type Encode = (value: Json) => Buffer

/** The fields of a message by their names in JSON, and the number of its extensions `x-...`. */
interface Message {
  readonly fields: Readonly<Record<string, Encode>>
  readonly extensions?: number
}

const text =
  (number: number): Encode =>
  (value) =>
    textField(number, String(value))
const flag =
  (number: number): Encode =>
  (value) =>
    varintField(number, value === true ? 1 : 0)
const inner =
  (number: number, encode: Encode): Encode =>
  (value) =>
    bytesField(number, encode(value))
const each =
  (encode: Encode): Encode =>
  (value) =>
    Buffer.concat((value as readonly Json[]).map(encode))
/** A map, as a list of messages with name and value. */
const named =
  (number: number, encode: Encode): Encode =>
  (value) =>
    Buffer.concat(
      Object.entries(value as JsonObject).map(([name, item]) =>
        bytesField(number, Buffer.concat([textField(1, name), bytesField(2, encode(item ?? null))])),
      ),
    )
const message =
  (of: () => Message): Encode =>
  (value) =>
    encoded(of(), value)

function encoded({ fields, extensions }: Message, value: Json): Buffer {
  invariant(isObject(value), 'a message is an object')
  const parts = Object.entries(value).map(([key, item]) => {
    if (key.startsWith('x-') && extensions !== undefined) return extension(extensions, key, item ?? null)
    const encode = fields[key]
    invariant(encode !== undefined, `OpenAPI in protobuf has no ${key} here`)
    return encode(item ?? null)
  })
  return Buffer.concat(parts)
}

/** Their values are YAML, which JSON is. */
function extension(number: number, name: string, value: Json): Buffer {
  const any = textField(2, JSON.stringify(value))
  return bytesField(number, Buffer.concat([textField(1, name), bytesField(2, any)]))
}

const schema = message(() => SCHEMA)

const SCHEMA: Message = {
  extensions: 31,
  fields: {
    $ref: text(1),
    format: text(2),
    description: text(4),
    required: each(text(19)),
    additionalProperties: inner(21, inner(1, schema)),
    type: inner(22, text(1)),
    items: inner(23, inner(1, schema)),
    properties: inner(25, named(1, schema)),
  },
}

const QUERY_PARAMETER: Message = { fields: { in: text(2), name: text(4), type: text(6), uniqueItems: flag(20) } }
/** The messages around it say that it is a parameter, has no body, and belongs to the query. */
const parameter = inner(
  1,
  inner(
    2,
    inner(
      3,
      message(() => QUERY_PARAMETER),
    ),
  ),
)
const response = inner(
  1,
  message(() => ({ fields: { description: text(1) } })),
)
const OPERATION: Message = {
  extensions: 13,
  fields: { parameters: each(inner(8, parameter)), responses: inner(9, named(1, response)) },
}
const operation = message(() => OPERATION)
const METHODS: Message = {
  fields: {
    get: inner(2, operation),
    put: inner(3, operation),
    post: inner(4, operation),
    delete: inner(5, operation),
    patch: inner(8, operation),
  },
}

const DOCUMENT: Message = {
  fields: {
    swagger: text(1),
    info: inner(
      2,
      message(() => ({ fields: { title: text(1), version: text(2) } })),
    ),
    paths: inner(
      8,
      named(
        2,
        message(() => METHODS),
      ),
    ),
    definitions: inner(9, named(1, schema)),
  },
}

/** A document of OpenAPI version 2 as protobuf. */
export function openApiProtobuf(document: JsonObject): Buffer {
  return encoded(DOCUMENT, document)
}
