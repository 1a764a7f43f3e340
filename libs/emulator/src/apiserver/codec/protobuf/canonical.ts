import { conform } from '../../schema/conform.ts'
import type { JsonMap } from '../../schema/json.ts'
import { schemaNamed } from '../../schema/schema.ts'
import { decodeMessage } from './decode.ts'
import { encodeMessage } from './encode.ts'

/** Returns an object as protobuf, and the object that a client must read from these bytes. Tests of clients use it. */
export function canonical(kind: string, object: object): { readonly value: JsonMap; readonly bytes: Buffer } {
  const schema = schemaNamed(kind)
  const bytes = encodeMessage(schema, conform(schema, object as JsonMap).value)
  return { value: conform(schema, decodeMessage(schema, bytes)).value, bytes }
}
