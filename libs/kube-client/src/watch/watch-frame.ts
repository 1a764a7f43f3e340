import {
  KUBE_OBJECT_MESSAGE,
  type KubeObject,
  type MessageReader,
  ProtobufError,
  statusOf,
} from '@csi-sidecars/kube-types'
import { ApiError, apiErrorOf } from '../api/api-error.ts'
import type { EndFrame, WatchFrame } from '../api/client.ts'
import { notJson, parseJson } from '../codec/decode.ts'
import {
  type ByteSpan,
  FIELD_1,
  FIELD_2,
  fieldOf,
  openEnvelope,
  readMessage,
  statusIn,
  textOf,
} from '../codec/protobuf.ts'

const INITIAL_EVENTS_END = 'k8s.io/initial-events-end'

/** Decodes one line of a watch. A line that is not a watch event ends the stream, because events may be lost. */
export function parseFrame<T>(line: string): WatchFrame<T> {
  let value: unknown
  try {
    value = parseJson(line)
  } catch {
    return badFrameEnd(`no watch event: ${notJson(line)}`)
  }
  if (!isEvent(value)) return badFrameEnd('no watch event: there is no type or no object')
  switch (value.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type: value.type, object: value.object as T }
    case 'BOOKMARK':
      return bookmark(value.object)
    case 'ERROR':
      return errorFrame(value.object)
    default:
      return unknownType(value.type)
  }
}

export function decodeFrame<T>(event: ByteSpan, read: MessageReader<T>): WatchFrame<T> {
  try {
    const type = textOf(fieldOf(event, FIELD_1))
    const object = fieldOf(fieldOf(event, FIELD_2), FIELD_1)
    switch (type) {
      case 'ADDED':
      case 'MODIFIED':
      case 'DELETED':
        return { type, object: readMessage(read, openEnvelope(object)) }
      case 'BOOKMARK':
        return bookmark(readMessage(KUBE_OBJECT_MESSAGE, openEnvelope(object)))
      case 'ERROR':
        return errorFrame(statusIn(object) ?? {})
      default:
        return unknownType(type)
    }
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
    return badFrameEnd(`no watch event: ${event.to - event.from} bytes that are no protobuf: ${error.message}`)
  }
}

interface Event {
  readonly type: string
  readonly object: object
}

function isEvent(value: unknown): value is Event {
  if (typeof value !== 'object' || value === null || !('type' in value) || !('object' in value)) return false
  return typeof value.type === 'string' && typeof value.object === 'object' && value.object !== null
}

function bookmark(object: KubeObject): WatchFrame<never> {
  const resourceVersion = object.metadata?.resourceVersion
  if (typeof resourceVersion !== 'string') return badFrameEnd('a bookmark without a resourceVersion')
  const initialEventsEnd = object.metadata?.annotations?.[INITIAL_EVENTS_END] === 'true'
  return { type: 'BOOKMARK', resourceVersion, initialEventsEnd }
}

function errorFrame(object: object): EndFrame {
  const status = statusOf(object)
  return {
    type: 'END',
    why: 'error',
    error: apiErrorOf(status ?? { kind: 'Status', message: 'an ERROR without a Status' }),
  }
}

function unknownType(type: string): EndFrame {
  return badFrameEnd(`unknown type of watch event: ${JSON.stringify(type.slice(0, 20))}`)
}

export function badFrameEnd(message: string): EndFrame {
  return { type: 'END', why: 'badFrame', error: new ApiError({ code: 0, reason: '', message }) }
}
