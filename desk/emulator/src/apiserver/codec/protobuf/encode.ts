import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { bytesOf, writeNested, writeText } from '../../../protobuf-write.ts'
import { isList, isObject, type Json, type JsonMap } from '../../schema/json.ts'
import type { Scalar, Schema, SchemaField, SchemaFieldType } from '../../schema/schema.ts'
import { type Places, placesOf } from './places.ts'

/** Encodes an object as a protobuf message. Fields that are not pointers in Go are written even if they are empty. */
export function encodeMessage(schema: Schema, object: JsonMap): Buffer {
  return new Encoder().encode(schema, object)
}

class Encoder {
  readonly #writer = new BinaryWriter()

  encode(schema: Schema, object: JsonMap): Buffer {
    this.#writeFields(placesOf(schema), object)
    return bytesOf(this.#writer)
  }

  #writeFields(places: Places, object: JsonMap): void {
    for (const [number, place] of places) {
      if ('field' in place) this.#writeField(number, place.field, object[place.field.name])
      else writeNested(this.#writer, number, () => this.#writeFields(place.inline, object))
    }
  }

  #writeField(number: number, { type, pointer }: SchemaField, value: Json | undefined): void {
    if (type.kind === 'list') this.#writeItems(number, type.of, value)
    else if (type.kind === 'map') this.#writeEntries(number, type.of, value)
    else if (!pointer || (value ?? null) !== null) this.#writeValue(number, type, value ?? null)
  }

  #writeItems(number: number, type: SchemaFieldType, value: Json | undefined): void {
    for (const item of isList(value) ? value : []) this.#writeValue(number, type, item)
  }

  #writeEntries(number: number, type: SchemaFieldType, value: Json | undefined): void {
    const entries = Object.entries(isObject(value) ? value : {}).sort(([a], [b]) => (a < b ? -1 : 1))
    for (const [key, item] of entries) {
      writeNested(this.#writer, number, () => {
        writeText(this.#writer, 1, key)
        this.#writeValue(2, type, item ?? null)
      })
    }
  }

  #writeValue(number: number, type: SchemaFieldType, value: Json): void {
    switch (type.kind) {
      case 'object':
        return writeNested(this.#writer, number, () =>
          this.#writeFields(placesOf(type.schema), isObject(value) ? value : {}),
        )
      case 'list':
        // Protobuf encodes a list inside a map as a message whose only field has the items.
        return writeNested(this.#writer, number, () => this.#writeItems(1, type.of, value))
      case 'map':
        return writeNested(this.#writer, number, () => this.#writeEntries(1, type.of, value))
      case 'scalar':
        return this.#writeScalar(number, type.scalar, value)
    }
  }

  #writeScalar(number: number, scalar: Scalar, value: Json): void {
    switch (scalar) {
      case 'string':
        return writeText(this.#writer, number, String(value ?? ''))
      case 'bool':
      case 'int':
      case 'long':
        return this.#writeNumber(number, Number(value ?? 0))
      case 'bytes':
        this.#writer.tag(number, WireType.LengthDelimited).bytes(Buffer.from(String(value ?? ''), 'base64'))
        return
      case 'quantity':
        return writeNested(this.#writer, number, () => writeText(this.#writer, 1, String(value ?? '0')))
      case 'any':
        return writeNested(this.#writer, number, () => writeText(this.#writer, 1, JSON.stringify(value)))
      case 'time':
      case 'microtime':
        return writeNested(this.#writer, number, () => value !== null && this.#writeInstant(String(value)))
      case 'intOrString':
        return writeNested(this.#writer, number, () => this.#writeIntOrString(value))
    }
  }

  #writeInstant(text: string): void {
    const fraction = /\.(\d+)/.exec(text)?.[1] ?? ''
    this.#writeNumber(1, Math.floor(Date.parse(text) / 1000))
    this.#writeNumber(2, Number(fraction.padEnd(9, '0').slice(0, 9)))
  }

  #writeIntOrString(value: Json): void {
    const isText = typeof value === 'string'
    this.#writeNumber(1, isText ? 1 : 0)
    this.#writeNumber(2, isText ? 0 : Number(value ?? 0))
    writeText(this.#writer, 3, isText ? value : '')
  }

  #writeNumber(number: number, value: number): void {
    this.#writer.tag(number, WireType.Varint).int64(value)
  }
}
