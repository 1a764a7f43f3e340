import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'

/** Fields of a protobuf message on the wire. */
export function varintField(number: number, value: number): Uint8Array {
  return new BinaryWriter().tag(number, WireType.Varint).uint64(value).finish()
}

export function bytesField(number: number, value: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(value).finish()
}

export function textField(number: number, value: string): Uint8Array {
  return bytesField(number, Buffer.from(value))
}
