import { describe, expect, test } from '@jest/globals'
import { conform } from '../../schema/conform.ts'
import type { JsonMap } from '../../schema/json.ts'
import { SCHEMAS, schemaNamed } from '../../schema/schema.ts'
import { decodeMessage } from './decode.ts'
import { encodeMessage } from './encode.ts'

/** Encodes an object and decodes it again. The result lacks the empty fields that the encoding adds. */
function throughBytes(name: string, object: JsonMap): JsonMap {
  const schema = schemaNamed(name)
  return conform(schema, decodeMessage(schema, encodeMessage(schema, conform(schema, object).value))).value
}

describe('encodeMessage', () => {
  test.each<[string, JsonMap]>([
    [
      'PersistentVolume',
      {
        metadata: { name: 'pv', labels: { b: '2', a: '1' }, finalizers: ['y', 'x'], deletionGracePeriodSeconds: -30 },
        spec: {
          capacity: { storage: '1Gi' },
          csi: { driver: 'd', volumeHandle: '', volumeAttributes: { größe: '😀' } },
          claimRef: { name: 'c', namespace: 'n' },
          volumeMode: '',
        },
        status: { phase: 'Bound', lastPhaseTransitionTime: '2026-11-22T12:00:00Z' },
      },
    ],
    ['Lease', { metadata: {}, spec: { leaseDurationSeconds: 15, renewTime: '2023-11-14T22:13:20.123456Z' } }],
    ['Secret', { metadata: {}, data: { key: 'YWJj' }, type: 'Opaque' }],
    ['CSIDriver', { metadata: {}, spec: { attachRequired: false, podInfoOnMount: true } }],
  ])('`encodeMessage` encodes all fields of a %s', (name, object) => {
    expect(throughBytes(name, object)).toEqual(conform(schemaNamed(name), object).value)
  })

  test('`encodeMessage` encodes an object of the largest allowed size', () => {
    const data = { key: 'a'.repeat(1_000_000) }
    expect(throughBytes('ConfigMap', { metadata: {}, data })['data']).toEqual(data)
  })

  test('`encodeMessage` encodes an object of every type', () => {
    for (const [name, schema] of SCHEMAS) expect([name, encodeMessage(schema, {}).length >= 0]).toEqual([name, true])
  })
})

test('`encodeMessage` omits an unset field only if the field is a pointer in Go', () => {
  const bytes = encodeMessage(schemaNamed('SecretReference'), {})
  expect([...bytes]).toEqual([0x0a, 0, 0x12, 0])
  expect(encodeMessage(schemaNamed('VolumeNodeAffinity'), {})).toHaveLength(0)
})
