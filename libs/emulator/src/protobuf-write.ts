/** Fields of a protobuf message on the wire. */
export function varintField(number: number, value: number): Buffer {
  return Buffer.from([...varint(number * 8), ...varint(value)])
}

export function bytesField(number: number, value: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(value.length)]), value])
}

export function textField(number: number, value: string): Buffer {
  return bytesField(number, Buffer.from(value))
}

function varint(value: number): readonly number[] {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80)
  return [...bytes, rest]
}
