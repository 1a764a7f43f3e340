/** Encodes a protobuf field with a number below 16 and less than 16 KiB of content. */
export function field(number: number, ...content: readonly (Buffer | string)[]): Buffer {
  const inner = Buffer.concat(content.map((each) => Buffer.from(each)))
  const length = inner.length < 0x80 ? [inner.length] : [(inner.length & 0x7f) | 0x80, inner.length >> 7]
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length]), inner])
}

/** Encodes an object as an API server sends it: with a prefix, its version and its kind. */
export function enveloped(message: Buffer, kind = 'Pod'): Buffer {
  return Buffer.concat([Buffer.from('k8s\0'), field(1, field(1, 'v1'), field(2, kind)), field(2, message)])
}

export function pod(name: string): Buffer {
  return field(1, field(1, name), field(6, '1'))
}

export function status(message: string, reason: string): Buffer {
  return enveloped(Buffer.concat([field(3, message), field(4, reason), Buffer.from([6 * 8, 0x9a, 0x03])]), 'Status')
}

/** Encodes a watch event with its length before it. */
export function frame(type: string, object: Buffer): Buffer {
  return framed(Buffer.concat([field(1, type), field(2, field(1, object))]))
}

export function framed(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}
