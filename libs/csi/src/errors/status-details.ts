import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'

/**
 * The google.rpc.Status in the trailer grpc-status-details-bin of an error. Only RetryInfo is needed, so its few fields
 * are read here without generated code.
 */

const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo'

/** The wait that the driver asks for. Undefined when it asks for none, and when the bytes are damaged. */
export function retryDelayMs(status: Uint8Array): number | undefined {
  const delays = valuesOf(status, 3)
    .filter((any) => textOf(lastOf(any, 1)) === RETRY_INFO)
    .map((any) => lastOf(lastOf(any, 2), 1))
  const delay = delays.find((each) => each instanceof Uint8Array)
  return delay && durationMs(delay)
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

function valuesOf(message: Uint8Array, number: number): readonly Value[] {
  return [...entriesOf(message)].flatMap(([field, value]) => (field === number ? [value] : []))
}

/** Returns the last value of a field, which is the valid one in protobuf. */
function lastOf(message: Value | undefined, number: number): Value | undefined {
  return message instanceof Uint8Array ? valuesOf(message, number).at(-1) : undefined
}

/** The fields of a message in order: varints and byte strings; fixed ones are passed over. Ends where bytes make no sense. */
function* entriesOf(message: Uint8Array): Generator<readonly [number, Value]> {
  const reader = new BinaryReader(message)
  try {
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag()
      if (type === WireType.Varint) yield [field, BigInt(reader.uint64())]
      else if (type === WireType.LengthDelimited) yield [field, reader.bytes()]
      else reader.skip(type, field)
    }
  } catch (error) {
    // The reader throws on damaged bytes from the driver. The fields before them are kept.
    if (!(error instanceof Error)) throw error
  }
}
