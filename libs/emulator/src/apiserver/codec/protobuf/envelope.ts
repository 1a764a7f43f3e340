import { bytesField, textField, varintField } from '../../../protobuf-write.ts'
import { isList, isObject, type Json, type JsonObject, type KubeObject } from '../../schema/json.ts'
import { groupVersionOf, type Kind } from '../../schema/kinds.ts'
import { schemaOf } from '../../schema/schema.ts'
import type { Listing } from '../../storage/list-page.ts'
import { encodeMessage } from './encode.ts'

const PREFIX = Buffer.from('k8s\0')

/** A message with what says of which kind it is. */
function enveloped(apiVersion: string, kind: string, message: Uint8Array): Buffer {
  const typeMeta = Buffer.concat([textField(1, apiVersion), textField(2, kind)])
  return Buffer.concat([PREFIX, bytesField(1, typeMeta), bytesField(2, message), textField(3, ''), textField(4, '')])
}

/** What is stored is frozen, so its bytes stay what they are. */
const MESSAGES = new WeakMap<KubeObject, Buffer>()

function messageOf(kind: Kind, object: KubeObject): Buffer {
  const known = MESSAGES.get(object)
  if (known !== undefined) return known
  const message = encodeMessage(schemaOf(kind), object)
  if (Object.isFrozen(object)) MESSAGES.set(object, message)
  return message
}

/** One object, as an answer or inside an event. */
export function objectBytes(kind: Kind, object: KubeObject): Buffer {
  return enveloped(groupVersionOf(kind), kind.kind, messageOf(kind, object))
}

export function listBytes(kind: Kind, { entries, revision, next, remaining }: Listing): Buffer {
  const metadata = Buffer.concat([
    textField(1, ''),
    textField(2, String(revision)),
    textField(3, next ?? ''),
    ...(remaining === undefined ? [] : [varintField(4, remaining)]),
  ])
  const items = entries.map(({ object }) => bytesField(2, messageOf(kind, object)))
  return enveloped(groupVersionOf(kind), `${kind.kind}List`, Buffer.concat([bytesField(1, metadata), ...items]))
}

/** An event of a watch, with its length in front. */
export function frameBytes(type: string, object: Uint8Array): Buffer {
  const event = Buffer.concat([textField(1, type), bytesField(2, bytesField(1, object))])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(event.length)
  return Buffer.concat([length, event])
}

export function statusBytes(status: JsonObject): Buffer {
  const { details, code } = status
  const message = Buffer.concat([
    bytesField(1, Buffer.alloc(0)),
    textField(2, textOf(status['status'])),
    textField(3, textOf(status['message'])),
    textField(4, textOf(status['reason'])),
    ...(isObject(details) ? [bytesField(5, detailsBytes(details))] : []),
    varintField(6, Number(code ?? 0)),
  ])
  return enveloped('v1', 'Status', message)
}

function detailsBytes({ name, group, kind, causes, retryAfterSeconds, uid }: JsonObject): Buffer {
  const each = isList(causes) ? causes.filter(isObject) : []
  return Buffer.concat([
    ...[name, group, kind].map((value, at) => textField(at + 1, textOf(value))),
    ...each.map(({ reason, message, field }) =>
      bytesField(4, Buffer.concat([reason, message, field].map((value, at) => textField(at + 1, textOf(value))))),
    ),
    varintField(5, Number(retryAfterSeconds ?? 0)),
    textField(6, textOf(uid)),
  ])
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
