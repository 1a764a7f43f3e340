import {
  LIST_META_MESSAGE,
  type MessageReader,
  ProtobufError,
  ProtobufReader,
  STATUS_MESSAGE,
  type Status,
  statusOf,
  textIn,
} from '@csi-sidecars/kube-types'
import { type DecodedList, NoListError } from './list-decoder.ts'

/** The bytes of a protobuf message, or of a field of a message, in a larger buffer. */
export interface ByteSpan {
  readonly bytes: Buffer
  readonly from: number
  readonly to: number
}

const PROTOBUF = 'application/vnd.kubernetes.protobuf'

/** The media types for objects and for watches: protobuf, or JSON if the server does not support protobuf. */
export const ACCEPT_PROTOBUF = `${PROTOBUF}, application/json`
export const ACCEPT_PROTOBUF_STREAM = `${PROTOBUF};stream=watch, application/json`

export function isProtobuf(contentType: string | undefined): boolean {
  return contentType?.startsWith(PROTOBUF) === true
}

export function spanOf(bytes: Buffer): ByteSpan {
  return { bytes, from: 0, to: bytes.length }
}

/** The prefix of each object in protobuf from an API server: `k8s` and a zero byte. */
const PREFIX = 0x6b387300
const PREFIX_BYTES = 4

/** The protobuf tags of the fields 1 and 2 with length-delimited values. */
export const FIELD_1 = 10
export const FIELD_2 = 18

/** Returns the bytes of an object without its envelope, which also contains the kind. Throws ProtobufError. */
export function openEnvelope(object: ByteSpan): ByteSpan {
  return fieldOf(afterPrefix(object), FIELD_2)
}

function afterPrefix({ bytes, from, to }: ByteSpan): ByteSpan {
  if (to - from < PREFIX_BYTES || bytes.readUInt32BE(from) !== PREFIX) throw new ProtobufError('no object of the API')
  return { bytes, from: from + PREFIX_BYTES, to }
}

/** Returns a field of a message. A missing field is empty. Throws ProtobufError. */
export function fieldOf({ bytes, from, to }: ByteSpan, tag: number): ByteSpan {
  const reader = new ProtobufReader(bytes, from)
  const end = reachField(reader, to, tag)
  return { bytes, from: end === undefined ? to : reader.at, to: end ?? to }
}

/**
 * Moves the reader to the value of the next field with the tag. Returns the end of the value, or undefined if the
 * message has no such field.
 */
function reachField(reader: ProtobufReader, to: number, tag: number): number | undefined {
  while (reader.at < to) {
    if (reader.tag(to) === tag) return reader.fieldEnd(to)
    reader.skip(to)
  }
  return undefined
}

export function readMessage<T>(read: MessageReader<T>, { bytes, from, to }: ByteSpan): T {
  return read(new ProtobufReader(bytes, from), to)
}

/**
 * Returns the Status, or undefined for an object of another kind. Throws ProtobufError if the bytes are not an API
 * object.
 */
export function statusIn(object: ByteSpan): Status | undefined {
  const kind = textOf(fieldOf(fieldOf(afterPrefix(object), FIELD_1), FIELD_2))
  return kind === 'Status' ? statusOf({ ...readMessage(STATUS_MESSAGE, openEnvelope(object)), kind }) : undefined
}

export function textOf({ bytes, from, to }: ByteSpan): string {
  return textIn(bytes, from, to)
}

/**
 * Decodes a page of a list. The decoder decodes each object when the caller reads it. Throws NoListError, possibly only
 * while the objects are read.
 */
export function decodeListMessage(bytes: Buffer, read: MessageReader<unknown>): DecodedList {
  return asNoList(() => {
    const list = openEnvelope(spanOf(bytes))
    const { resourceVersion, continue: token } = readMessage(LIST_META_MESSAGE, fieldOf(list, FIELD_1))
    return { head: { resourceVersion, continue: token }, objects: objectsIn(list, read) }
  })
}

function* objectsIn({ bytes, from, to }: ByteSpan, read: MessageReader<unknown>): Generator<unknown> {
  const reader = new ProtobufReader(bytes, from)
  for (;;) {
    const end = asNoList(() => reachField(reader, to, FIELD_2))
    if (end === undefined) return
    yield asNoList(() => read(reader, end))
  }
}

function asNoList<T>(decode: () => T): T {
  try {
    return decode()
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
    throw new NoListError(`protobuf that ends in ${error.message}`)
  }
}
