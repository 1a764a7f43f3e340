import { conform } from '../../schema/conform.ts'
import type { JsonMap } from '../../schema/json.ts'
import { schemaNamed } from '../../schema/schema.ts'
import { decodeMessage } from './decode.ts'
import { encodeMessage } from './encode.ts'

/** Encodes an object for tests of protobuf clients. A client that decodes `bytes` must get `value`. */
export function canonical(kind: string, object: object): { readonly value: JsonMap; readonly bytes: Buffer } {
  const schema = schemaNamed(kind)
  const bytes = encodeMessage(schema, conform(schema, object as JsonMap).value)
  return { value: conform(schema, decodeMessage(schema, bytes)).value, bytes }
}
