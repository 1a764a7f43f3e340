import { conform } from '../../schema/conform.ts'
import type { JsonMap } from '../../schema/json.ts'
import { schemaNamed } from '../../schema/schema.ts'
import { decodeMessage } from './decode.ts'
import { encodeMessage } from './encode.ts'

/**
 * The message of an object, and the JSON of a server that keeps its objects as such messages. For those who hold readers
 * of both against each other.
 */
export function canonical(kind: string, object: object): { readonly value: JsonMap; readonly bytes: Buffer } {
  const schema = schemaNamed(kind)
  const bytes = encodeMessage(schema, conform(schema, object as JsonMap).value)
  return { value: conform(schema, decodeMessage(schema, bytes)).value, bytes }
}
