import { isList, isObject, type Json, type JsonObject } from '../../schema/json.ts'
import type { Field, FieldType, Scalar, Schema } from '../../schema/schema.ts'
import { BackwardWriter } from './backward-writer.ts'

/** An object of a type as its message: what Go has no pointer for is written even when it is empty. */
export function encodeMessage(schema: Schema, object: JsonObject): Buffer {
  return new Encoder().encode(schema, object)
}

/** The fields of one number: one field, or those of a message whose fields JSON has in the object around it. */
interface Place {
  readonly number: number
  readonly fields: readonly { readonly field: Field; readonly inner: readonly number[] }[]
}

const PLACES = new WeakMap<Schema, readonly Place[]>()

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

/** The last key comes first, as it is written. */
function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? 1 : -1
}

const TEXT: FieldType = { is: 'scalar', scalar: 'string' }

class Encoder {
  readonly #writer = new BackwardWriter()

  encode(schema: Schema, object: JsonObject): Buffer {
    this.#writeObject(schema, object)
    return this.#writer.take()
  }

  #writeObject(schema: Schema, object: JsonObject): void {
    let places = PLACES.get(schema)
    if (places === undefined) {
      places = placesOf(schema.fields.map((field) => ({ field, inner: field.numbers })))
      PLACES.set(schema, places)
    }
    this.#writePlaces(places, object)
  }

  #writePlaces(places: readonly Place[], object: JsonObject): void {
    for (const { number, fields } of places) {
      const [first] = fields
      if (first === undefined) continue
      if (first.inner.length === 0) {
        this.#writeField(number, first.field, object[first.field.name])
        continue
      }
      const before = this.#writer.length
      this.#writePlaces(placesOf(fields), object)
      this.#writer.lengthKey(number, before)
    }
  }

  #writeField(number: number, field: Field, value: Json | undefined): void {
    const { type, pointer } = field
    if (type.is === 'list') {
      for (const item of [...(isList(value) ? value : [])].reverse()) this.#writeValue(number, type.of, item)
    } else if (type.is === 'map') {
      for (const entry of Object.entries(isObject(value) ? value : {}).sort(byKey)) {
        this.#writeEntry(number, type.of, entry)
      }
    } else if (!pointer || (value !== undefined && value !== null)) {
      this.#writeValue(number, type, value ?? null)
    }
  }

  #writeEntry(number: number, type: FieldType, [key, value]: readonly [string, Json | undefined]): void {
    const before = this.#writer.length
    this.#writeValue(2, type, value ?? null)
    this.#writeValue(1, TEXT, key)
    this.#writer.lengthKey(number, before)
  }

  #writeValue(number: number, type: FieldType, value: Json): void {
    if (type.is === 'scalar' && (type.scalar === 'int' || type.scalar === 'long' || type.scalar === 'bool')) {
      this.#writer.varint(BigInt(Number(value ?? 0)))
      this.#writer.numberKey(number)
      return
    }
    const before = this.#writer.length
    this.#writeBytes(type, value)
    this.#writer.lengthKey(number, before)
  }

  #writeBytes(type: FieldType, value: Json): void {
    switch (type.is) {
      case 'object':
        return this.#writeObject(type.schema, isObject(value) ? value : {})
      case 'list':
        // A list inside a map is a message with the items as its only field.
        for (const item of [...(isList(value) ? value : [])].reverse()) this.#writeValue(1, type.of, item)
        return
      case 'map':
        for (const entry of Object.entries(isObject(value) ? value : {}).sort(byKey)) {
          this.#writeEntry(1, type.of, entry)
        }
        return
      case 'scalar':
        return this.#writeScalar(type.scalar, value)
    }
  }

  #writeScalar(scalar: Scalar, value: Json): void {
    switch (scalar) {
      case 'bytes':
        return this.#writer.bytes(Buffer.from(String(value ?? ''), 'base64'))
      case 'quantity':
        return this.#writeValue(1, TEXT, value ?? '0')
      case 'time':
      case 'microtime':
        return value === null ? undefined : this.#writeInstant(String(value))
      case 'intOrString':
        return this.#writeIntOrString(value)
      case 'any':
        return this.#writeValue(1, TEXT, JSON.stringify(value))
      default:
        this.#writer.text(String(value ?? ''))
    }
  }

  #writeInstant(text: string): void {
    const fraction = /\.(\d+)/.exec(text)?.[1] ?? ''
    this.#writer.varint(Number(fraction.padEnd(9, '0').slice(0, 9)))
    this.#writer.numberKey(2)
    this.#writer.varint(Math.floor(Date.parse(text) / 1000))
    this.#writer.numberKey(1)
  }

  #writeIntOrString(value: Json): void {
    const isText = typeof value === 'string'
    this.#writeValue(3, TEXT, isText ? value : '')
    this.#writer.varint(isText ? 0 : Number(value ?? 0))
    this.#writer.numberKey(2)
    this.#writer.varint(isText ? 1 : 0)
    this.#writer.numberKey(1)
  }
}
