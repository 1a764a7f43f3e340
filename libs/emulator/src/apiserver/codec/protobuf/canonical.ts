import { conform } from '../../schema/conform.ts'
import type { JsonMap } from '../../schema/json.ts'
import { schemaNamed } from '../../schema/schema.ts'
import { decodeMessage } from './decode.ts'
import { encodeMessage } from './encode.ts'

/**
 * Returns the message of an object, and the object as a server returns it that stores messages. Tests compare both
 * readers with it.
 */
export function canonical(kind: string, object: object): { readonly value: JsonMap; readonly bytes: Buffer } {
  const schema = schemaNamed(kind)
  const bytes = encodeMessage(schema, conform(schema, object as JsonMap).value)
  return { value: conform(schema, decodeMessage(schema, bytes)).value, bytes }
}
