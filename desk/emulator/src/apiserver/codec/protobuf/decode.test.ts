import { expect, test } from '@jest/globals'
import { schemaNamed } from '../../schema/schema.ts'
import { decodeMessage, openEnvelope } from './decode.ts'
import { fieldsOf } from './wire.ts'

const varint = (value: number): number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(Math.floor(value / 0x80))]
const bytes = (number: number, ...content: (Buffer | string)[]): Buffer => {
  const inner = Buffer.concat(content.map((each) => Buffer.from(each)))
  return Buffer.concat([Buffer.from([...varint((number << 3) | 2), ...varint(inner.length)]), inner])
}
const int = (number: number, value: number): Buffer => Buffer.from([...varint(number << 3), ...varint(value)])

const META = bytes(1, bytes(1, 'lease'), bytes(11, bytes(1, 'a'), bytes(2, 'b')), bytes(14, 'x/1'), bytes(14, 'x/2'))

test('`decodeMessage` decodes a Lease as Go clients encode it', () => {
  const spec = bytes(2, bytes(1, 'me'), int(2, 15), bytes(4, int(1, 1_700_000_000), int(2, 123_456_789)), bytes(3))
  const body = Buffer.concat([
    Buffer.from('k8s\0'),
    bytes(1, bytes(1, 'coordination.k8s.io/v1'), bytes(2, 'Lease')),
    bytes(2, META, spec),
  ])
  const { apiVersion, kind, message } = openEnvelope(body)
  expect({ apiVersion, kind }).toEqual({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' })
  expect(decodeMessage(schemaNamed('Lease'), message)).toEqual({
    metadata: { name: 'lease', labels: { a: 'b' }, finalizers: ['x/1', 'x/2'] },
    spec: {
      holderIdentity: 'me',
      leaseDurationSeconds: 15,
      acquireTime: null,
      renewTime: '2023-11-14T22:13:20.123456Z',
    },
  })
})

test('`decodeMessage` puts the fields of PersistentVolumeSource into the spec, as JSON does', () => {
  const csi = bytes(2, bytes(22, bytes(1, 'driver'), bytes(2, 'handle')))
  const capacity = bytes(1, bytes(1, 'storage'), bytes(2, bytes(1, '1Gi')))
  expect(decodeMessage(schemaNamed('PersistentVolumeSpec'), Buffer.concat([capacity, csi]))).toEqual({
    capacity: { storage: '1Gi' },
    csi: { driver: 'driver', volumeHandle: 'handle' },
  })
})

test('`decodeMessage` decodes bytes as base64, and skips unknown fields', () => {
  const message = Buffer.concat([bytes(2, bytes(1, 'key'), bytes(2, 'abc')), bytes(99, 'later')])
  expect(decodeMessage(schemaNamed('Secret'), message)).toEqual({ data: { key: 'YWJj' } })
})

test.each<[Buffer, string]>([
  [Buffer.from('{}'), 'does not appear to be a protobuf message, expected prefix [107 56 115 0] (7b7d)'],
  [Buffer.concat([Buffer.from('k8s\0'), Buffer.from([0x0a, 0x7f])]), 'unexpected EOF'],
  [Buffer.concat([Buffer.from('k8s\0'), Buffer.from([0x08, 0x01])]), 'wrong wireType = 0'],
])('`openEnvelope` refuses the body %j', (body, message) => {
  expect(() => openEnvelope(body)).toThrow(message)
})

test('invalid protobuf bytes cause an error, never an endless loop', () => {
  for (const broken of [
    [0xff],
    [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80],
    [0x0b],
    [0x0a, 0xff, 0xff, 0xff, 0x7f],
  ]) {
    expect(() => [...fieldsOf(Buffer.from(broken))]).toThrow()
  }
})
