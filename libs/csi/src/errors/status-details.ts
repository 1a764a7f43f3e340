/**
 * What a driver may add to an error: google.rpc.Status in the trailer grpc-status-details-bin. Only RetryInfo is of
 * interest, so the few bytes are read here instead of carrying generated code for them.
 */

const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo'

/** The wait that the driver asks for. Undefined when it asks for none, and when the bytes are damaged. */
export function retryDelayMs(status: Uint8Array): number | undefined {
  for (const any of fieldsOf(status, 3)) {
    if (textOf(lastOf(any, 1)) !== RETRY_INFO) continue
    const retryInfo = lastOf(any, 2)
    const delay = retryInfo instanceof Uint8Array ? lastOf(retryInfo, 1) : undefined
    if (delay instanceof Uint8Array) return durationMs(delay)
  }
  return undefined
}

/** google.protobuf.Duration; a negative one is no wait. */
function durationMs(duration: Uint8Array): number {
  const seconds = BigInt.asIntN(64, numberOf(lastOf(duration, 1)))
  const nanos = BigInt.asIntN(32, numberOf(lastOf(duration, 2)))
  return Math.max(0, Number(seconds) * 1000 + Number(nanos) / 1e6)
}

type Value = bigint | Uint8Array

const numberOf = (value: Value | undefined): bigint => (typeof value === 'bigint' ? value : 0n)
const textOf = (value: Value | undefined): string =>
  value instanceof Uint8Array ? new TextDecoder().decode(value) : ''

function* fieldsOf(message: Uint8Array, number: number): Generator<Uint8Array> {
  for (const [field, value] of entriesOf(message)) {
    if (field === number && value instanceof Uint8Array) yield value
  }
}

/** Of a field that is there more than once the last one counts. */
function lastOf(message: Uint8Array, number: number): Value | undefined {
  let last: Value | undefined
  for (const [field, value] of entriesOf(message)) {
    if (field === number) last = value
  }
  return last
}

/** The fields of a message in order: varints and byte strings; fixed ones are passed over. Ends where bytes make no sense. */
function* entriesOf(message: Uint8Array): Generator<readonly [number, Value]> {
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength)
  let at = 0
  const varint = (): bigint | undefined => {
    let value = 0n
    for (let shift = 0n; shift < 70n && at < message.length; shift += 7n) {
      const byte = view.getUint8(at)
      at += 1
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    return undefined
  }
  while (at < message.length) {
    const tag = varint()
    if (tag === undefined) return
    const field = Number(tag >> 3n)
    switch (Number(tag & 7n)) {
      case 0: {
        const value = varint()
        if (value === undefined) return
        yield [field, value]
        break
      }
      case 1:
        at += 8
        break
      case 2: {
        const length = varint()
        if (length === undefined || length > BigInt(message.length - at)) return
        const end = at + Number(length)
        yield [field, message.subarray(at, end)]
        at = end
        break
      }
      case 5:
        at += 4
        break
      default:
        return
    }
  }
}
