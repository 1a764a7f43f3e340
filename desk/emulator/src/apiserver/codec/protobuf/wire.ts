/** The error for bytes that are not a protobuf message. */
export class WireError extends Error {
  override readonly name = 'WireError'
}

/** One encoded field: the field number, and the value as a number or as bytes. */
interface WireField {
  readonly number: number
  readonly value: bigint | Buffer
}

const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

/** Yields the fields of a message in order. Skips fixed-length fields, because no Kubernetes type has them. */
export function* fieldsOf(message: Buffer): Generator<WireField> {
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = message[at]
      if (byte === undefined) throw new WireError('unexpected EOF')
      at += 1
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asUintN(64, value)
    }
    throw new WireError('proto: integer overflow')
  }
  while (at < message.length) {
    const key = Number(varint())
    const number = key >>> 3
    switch (key & 7) {
      case VARINT:
        yield { number, value: varint() }
        break
      case BYTES: {
        const length = Number(varint())
        if (length > message.length - at) throw new WireError('unexpected EOF')
        yield { number, value: message.subarray(at, at + length) }
        at += length
        break
      }
      case FIXED64:
        at += 8
        break
      case FIXED32:
        at += 4
        break
      default:
        throw new WireError(`proto: illegal wireType ${key & 7}`)
    }
  }
}
