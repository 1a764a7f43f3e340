import { isList, isObject, type Json, type JsonObject } from '../../schema/json.ts'
import type { Field, FieldType, Scalar, Schema } from '../../schema/schema.ts'
import { BackwardWriter } from './backward-writer.ts'

/** An object of a type as its message: what Go has no pointer for is written even when it is empty. */
export function encodeMessage(schema: Schema, object: JsonObject): Buffer {
  const writer = new BackwardWriter()
  writeObject(writer, schema, object)
  return writer.take()
}

/** Fields that stand under one number: a field, or those of the message whose fields JSON has in the object around it. */
interface Place {
  readonly number: number
  readonly fields: readonly { readonly field: Field; readonly inner: readonly number[] }[]
}

const PLACES = new WeakMap<Schema, readonly Place[]>()

function writeObject(writer: BackwardWriter, schema: Schema, object: JsonObject): void {
  let places = PLACES.get(schema)
  if (places === undefined) {
    places = placesOf(schema.fields.map((field) => ({ field, inner: field.numbers })))
    PLACES.set(schema, places)
  }
  writePlaces(writer, places, object)
}

/** The last comes first, as it is written. */
function placesOf(fields: Place['fields']): readonly Place[] {
  const places = new Map<number, Place['fields'][number][]>()
  for (const { field, inner } of fields) {
    const [number = 0, ...rest] = inner
    const place = places.get(number) ?? []
    places.set(number, [...place, { field, inner: rest }])
  }
  return [...places].map(([number, inside]) => ({ number, fields: inside })).sort((a, b) => b.number - a.number)
}

function writePlaces(writer: BackwardWriter, places: readonly Place[], object: JsonObject): void {
  for (const { number, fields } of places) {
    const [first] = fields
    if (first === undefined) continue
    if (first.inner.length === 0) {
      writeField(writer, number, first.field, object[first.field.name])
      continue
    }
    const before = writer.length
    writePlaces(writer, placesOf(fields), object)
    writer.lengthKey(number, before)
  }
}

function writeField(writer: BackwardWriter, number: number, field: Field, value: Json | undefined): void {
  const { type, pointer } = field
  if (type.is === 'list') {
    for (const item of [...(isList(value) ? value : [])].reverse()) writeValue(writer, number, type.of, item)
  } else if (type.is === 'map') {
    for (const entry of Object.entries(isObject(value) ? value : {}).sort(byKey)) {
      writeEntry(writer, number, type.of, entry)
    }
  } else if (!pointer || (value !== undefined && value !== null)) {
    writeValue(writer, number, type, value ?? null)
  }
}

/** The last key comes first, as it is written. */
function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? 1 : -1
}

function writeEntry(
  writer: BackwardWriter,
  number: number,
  type: FieldType,
  [key, value]: readonly [string, Json | undefined],
): void {
  const before = writer.length
  writeValue(writer, 2, type, value ?? null)
  writeValue(writer, 1, TEXT, key)
  writer.lengthKey(number, before)
}

const TEXT: FieldType = { is: 'scalar', scalar: 'string' }

function writeValue(writer: BackwardWriter, number: number, type: FieldType, value: Json): void {
  if (type.is === 'scalar' && (type.scalar === 'int' || type.scalar === 'long' || type.scalar === 'bool')) {
    writer.varint(BigInt(Number(value ?? 0)))
    writer.numberKey(number)
    return
  }
  const before = writer.length
  writeBytes(writer, type, value)
  writer.lengthKey(number, before)
}

function writeBytes(writer: BackwardWriter, type: FieldType, value: Json): void {
  switch (type.is) {
    case 'object':
      return writeObject(writer, type.schema, isObject(value) ? value : {})
    case 'list':
      // A list inside a map is a message with the items as its only field.
      for (const item of [...(isList(value) ? value : [])].reverse()) writeValue(writer, 1, type.of, item)
      return
    case 'map':
      for (const entry of Object.entries(isObject(value) ? value : {}).sort(byKey)) {
        writeEntry(writer, 1, type.of, entry)
      }
      return
    case 'scalar':
      return writeScalar(writer, type.scalar, value)
  }
}

function writeScalar(writer: BackwardWriter, scalar: Scalar, value: Json): void {
  switch (scalar) {
    case 'bytes':
      return writer.bytes(Buffer.from(String(value ?? ''), 'base64'))
    case 'quantity':
      return writeValue(writer, 1, TEXT, value ?? '0')
    case 'time':
    case 'microtime':
      return value === null ? undefined : writeInstant(writer, String(value))
    case 'intOrString':
      return writeIntOrString(writer, value)
    case 'any':
      return writeValue(writer, 1, TEXT, JSON.stringify(value))
    default:
      writer.text(String(value ?? ''))
  }
}

function writeInstant(writer: BackwardWriter, text: string): void {
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? ''
  writer.varint(Number(fraction.padEnd(9, '0').slice(0, 9)))
  writer.numberKey(2)
  writer.varint(Math.floor(Date.parse(text) / 1000))
  writer.numberKey(1)
}

function writeIntOrString(writer: BackwardWriter, value: Json): void {
  const isText = typeof value === 'string'
  writeValue(writer, 3, TEXT, isText ? value : '')
  writer.varint(isText ? 0 : Number(value ?? 0))
  writer.numberKey(2)
  writer.varint(isText ? 1 : 0)
  writer.numberKey(1)
}
