import type { ProtobufReader } from './protobuf.ts'

/**
 * Reads the message between the position of the reader and `end`. Returns the fields that proto/kube defines, in the
 * form of parsed JSON. Throws a `ProtobufError`.
 */
export type MessageReader<T> = (reader: ProtobufReader, end: number) => T

const FIRST_TEXT = 10
const SECOND_TEXT = 18
const FIRST_NUMBER = 8

/** Reads the text of a Quantity message. An empty message is zero. */
export function readQuantity(reader: ProtobufReader, end: number): string {
  let text = '0'
  while (reader.at < end) {
    if (reader.tag(end) === FIRST_TEXT) text = reader.text(end)
    else reader.skip(end)
  }
  return text
}

/** Reads the seconds of a Time message as a text. Returns null for an empty message, as JSON does. */
export function readTime(reader: ProtobufReader, end: number): string | null {
  if (reader.at === end) return null
  let seconds = 0
  while (reader.at < end) {
    if (reader.tag(end) === FIRST_NUMBER) seconds = reader.int(end)
    else reader.skip(end)
  }
  const moment = new Date(seconds * 1000)
  return Number.isNaN(moment.getTime()) ? null : `${moment.toISOString().slice(0, -'.000Z'.length)}Z`
}

type Texts = Record<string, string>

/** Reads one entry of a map, a message with a key and a value, and adds the entry to `map`. */
export function addText(map: Texts | undefined, reader: ProtobufReader, end: number): Texts {
  let key = ''
  let value = ''
  const to = reader.fieldEnd(end)
  while (reader.at < to) {
    const tag = reader.tag(to)
    if (tag === FIRST_TEXT) key = reader.text(to)
    else if (tag === SECOND_TEXT) value = reader.text(to)
    else reader.skip(to)
  }
  return withEntry(map, key, value)
}

export function addQuantity(map: Texts | undefined, reader: ProtobufReader, end: number): Texts {
  let key = ''
  let value = '0'
  const to = reader.fieldEnd(end)
  while (reader.at < to) {
    const tag = reader.tag(to)
    if (tag === FIRST_TEXT) key = reader.text(to)
    else if (tag === SECOND_TEXT) value = readQuantity(reader, reader.fieldEnd(to))
    else reader.skip(to)
  }
  return withEntry(map, key, value)
}

function withEntry(map: Texts = {}, key: string, value: string): Texts {
  if (key === '__proto__')
    Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true })
  else map[key] = value
  return map
}
