import { badRequest, unsupportedMediaType } from '../http/api-failure.ts'
import { mediaType, parseObject } from '../http/read-body.ts'
import type { JsonMap } from '../schema/json.ts'
import type { Schema } from '../schema/schema.ts'
import { decodeMessage, openEnvelope, PROTOBUF } from './protobuf/decode.ts'
import { WireError } from './protobuf/wire.ts'

const READABLE = ['application/json', PROTOBUF]

/** The expected kind of the object in a request body, and its schema. */
interface ExpectedType {
  readonly name: string
  readonly schema: Schema
}

/** Reads the body of a write, which is JSON or protobuf. */
export function bodyOf(contentType: string | undefined, body: Buffer, expected: ExpectedType): JsonMap {
  const type = mediaType(contentType)
  if (type === '' || type === 'application/json') return parseObject(body)
  if (type !== PROTOBUF) throw unsupportedMediaType(READABLE)
  try {
    const { apiVersion, kind, message } = openEnvelope(body)
    return {
      apiVersion,
      kind,
      ...(kind === expected.name || kind === '' ? decodeMessage(expected.schema, message) : {}),
    }
  } catch (error) {
    if (!(error instanceof WireError)) throw error
    throw badRequest(`the object provided is unrecognized (must be of type ${expected.name}): ${error.message}`)
  }
}
