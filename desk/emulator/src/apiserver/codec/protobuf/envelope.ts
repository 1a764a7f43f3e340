import { bytesField, textField } from '../../../protobuf-write.ts'
import type { ApiObject, JsonMap } from '../../schema/json.ts'
import { groupVersionOf, type ServedKind } from '../../schema/kinds.ts'
import { schemaNamed, schemaOf } from '../../schema/schema.ts'
import type { ListedPage } from '../../storage/list-page.ts'
import { PREFIX } from './decode.ts'
import { encodeMessage } from './encode.ts'

/** Returns a protobuf body: the prefix, the kind and the encoded object. */
function enveloped(apiVersion: string, kind: string, message: Uint8Array): Buffer {
  const typeMeta = Buffer.concat([textField(1, apiVersion), textField(2, kind)])
  return Buffer.concat([PREFIX, bytesField(1, typeMeta), bytesField(2, message), textField(3, ''), textField(4, '')])
}

/** A cache of encoded objects. It contains only frozen objects, because they never change. */
const MESSAGES = new WeakMap<ApiObject, Buffer>()

function messageOf(kind: ServedKind, object: ApiObject): Buffer {
  const remembered = MESSAGES.get(object)
  if (remembered !== undefined) return remembered
  const message = encodeMessage(schemaOf(kind), object)
  if (Object.isFrozen(object)) MESSAGES.set(object, message)
  return message
}

/** Encodes one object, for an answer or for a watch event. */
export function objectBytes(kind: ServedKind, object: ApiObject): Buffer {
  return enveloped(groupVersionOf(kind), kind.kind, messageOf(kind, object))
}

export function listBytes(kind: ServedKind, { entries, revision, next, remainingItemCount }: ListedPage): Buffer {
  const listMeta = { resourceVersion: String(revision), continue: next, remainingItemCount }
  const metadata = bytesField(1, encodeMessage(schemaNamed('ListMeta'), listMeta))
  const items = entries.map(({ object }) => bytesField(2, messageOf(kind, object)))
  return enveloped(groupVersionOf(kind), `${kind.kind}List`, Buffer.concat([metadata, ...items]))
}

/** Encodes a watch event, after four bytes with its length. */
export function frameBytes(type: string, object: Uint8Array): Buffer {
  const event = Buffer.concat([textField(1, type), bytesField(2, bytesField(1, object))])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(event.length)
  return Buffer.concat([length, event])
}

export function statusBytes(status: JsonMap): Buffer {
  return enveloped('v1', 'Status', encodeMessage(schemaNamed('Status'), status))
}
