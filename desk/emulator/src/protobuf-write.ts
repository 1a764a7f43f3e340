import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'

/** Writes a nested message as a field of the enclosing message. */
export function writeNested(writer: BinaryWriter, number: number, write: () => unknown): void {
  writer.tag(number, WireType.LengthDelimited).fork()
  write()
  writer.join()
}

export function writeText(writer: BinaryWriter, number: number, text: string): void {
  writer.tag(number, WireType.LengthDelimited).string(text)
}

/** Returns the written bytes. It does not copy them, because `finish` has created a new buffer for them. */
export function bytesOf(writer: BinaryWriter): Buffer {
  return Buffer.from(writer.finish().buffer)
}

/** Returns one encoded field of a protobuf message. */
export function varintField(number: number, value: number): Uint8Array {
  return new BinaryWriter().tag(number, WireType.Varint).uint64(value).finish()
}

export function bytesField(number: number, value: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(value).finish()
}

export function textField(number: number, value: string): Uint8Array {
  return bytesField(number, Buffer.from(value))
}
