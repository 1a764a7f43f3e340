import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { PERSISTENT_VOLUME_MESSAGE, POD_MESSAGE, STATUS_MESSAGE } from './gen/readers.ts'
import type { MessageReader } from './message.ts'
import { ProtobufError, ProtobufReader } from './protobuf.ts'

const varint = (value: bigint): number[] =>
  value < 0x80n ? [Number(value)] : [Number(value & 0x7fn) | 0x80, ...varint(value >> 7n)]
const int = (number: number, value: bigint): Buffer =>
  Buffer.from([...varint(BigInt(number * 8)), ...varint(BigInt.asUintN(64, value))])
const field = (number: number, ...content: (Buffer | string)[]): Buffer => {
  const inner = Buffer.concat(content.map((each) => Buffer.from(each)))
  return Buffer.concat([Buffer.from([...varint(BigInt(number * 8 + 2)), ...varint(BigInt(inner.length))]), inner])
}
const read = <T>(message: MessageReader<T>, bytes: Buffer): T => message(new ProtobufReader(bytes), bytes.length)

/** Returns the value without undefined fields, as JSON would write it. */
const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe('an object', () => {
  test('the protobuf reader returns the known fields as in JSON, and skips all other fields', () => {
    const metadata = field(
      1,
      field(1, 'pv'),
      field(99, 'later'),
      field(11, field(1, 'a'), field(2, 'b')),
      field(14, 'f'),
    )
    const unknownFields = [int(77, 5n), Buffer.from([...varint(78n * 8n + 1n), ...Array(8).fill(1)]), field(79, 'x')]
    const fixed32 = Buffer.from([...varint(80n * 8n + 5n), 1, 2, 3, 4])
    const spec = field(2, field(1, field(1, 'storage'), field(2, field(1, '1Gi'))), field(3, 'ReadWriteOnce'))
    expect(json(read(PERSISTENT_VOLUME_MESSAGE, Buffer.concat([...unknownFields, metadata, fixed32, spec])))).toEqual({
      metadata: { name: 'pv', labels: { a: 'b' }, finalizers: ['f'] },
      spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'] },
    })
  })

  test('the protobuf reader moves the fields of an inner message to the outer object, as JSON does', () => {
    const csi = field(22, field(1, 'driver'), field(2, ''), int(3, 0n), field(4, ''))
    expect(json(read(PERSISTENT_VOLUME_MESSAGE, field(2, field(2, csi))))).toEqual({
      spec: { csi: { driver: 'driver', volumeHandle: '' } },
    })
  })

  test('the protobuf reader keeps empty fields only if JSON keeps them', () => {
    const empty = read(PERSISTENT_VOLUME_MESSAGE, field(2, field(6, ''), field(8, '')))
    expect(json(empty)).toEqual({ spec: { volumeMode: '' } })
    expect(json(read(POD_MESSAGE, field(2, field(1, field(1, 'v'), field(2, field(29))))))).toEqual({
      spec: { volumes: [{ name: 'v', ephemeral: {} }] },
    })
  })

  test('the protobuf reader accepts any text as a key of a map', () => {
    const labels = field(11, field(1, '__proto__'), field(2, 'b'))
    const { metadata } = read(PERSISTENT_VOLUME_MESSAGE, field(1, labels))
    expect(Object.entries(metadata?.labels ?? {})).toEqual([['__proto__', 'b']])
  })

  test.each<[string, Buffer, string | null]>([
    ['seconds', field(9, int(1, 1_700_000_000n), int(2, 5n)), '2023-11-14T22:13:20Z'],
    ['seconds before 1970', field(9, int(1, -1n)), '1969-12-31T23:59:59Z'],
    ['an empty message', field(9), null],
    ['an impossible number of seconds', field(9, int(1, 2n ** 60n)), null],
  ])('the protobuf reader reads a time of %s', (_, bytes, text) => {
    expect(read(PERSISTENT_VOLUME_MESSAGE, field(1, bytes)).metadata?.deletionTimestamp).toBe(text)
  })

  test.each([0n, 1n, 127n, 128n, 404n, 2n ** 31n - 1n, -1n, -300n, -(2n ** 31n)])(
    'the protobuf reader reads the number %s',
    (value) => {
      expect(read(STATUS_MESSAGE, int(6, value)).code ?? 0).toBe(Number(value))
    },
  )
})

describe('bytes', () => {
  test.each<[string, number[], string]>([
    ['that end in a number', [0x08, 0x80], 'unexpected EOF'],
    ['that end before a number', [0x30], 'unexpected EOF'],
    ['that end in a text', [0x0a, 0x05, 0x41], 'unexpected EOF'],
    ['that end in a skipped field', [0x39, 0x01], 'unexpected EOF'],
    ['of a group', [0x0b], 'proto: illegal wireType 3'],
    ['of a number without end', [0x30, ...Array(11).fill(0x80), 0x01], 'proto: integer overflow'],
    [
      'of a field that is longer than its message',
      [0x0a, 0x02, 0x0a, 0x05, 0x41, 0x41, 0x41, 0x41, 0x41],
      'unexpected EOF',
    ],
  ])('the protobuf reader refuses the bytes of a message %s', (_, bytes, message) => {
    expect(() => read(PERSISTENT_VOLUME_MESSAGE, Buffer.from(bytes))).toThrow(new ProtobufError(message))
  })

  test('the protobuf reader throws only ProtobufErrors for random bytes', () => {
    const property = fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        read(PERSISTENT_VOLUME_MESSAGE, Buffer.from(bytes))
      } catch (error) {
        expect(error).toBeInstanceOf(ProtobufError)
      }
    })
    fc.assert(property, { numRuns: 5_000, seed: 1 })
  })
})
