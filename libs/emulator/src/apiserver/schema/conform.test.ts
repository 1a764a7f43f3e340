import { expect, test } from '@jest/globals'
import { conform } from './conform.ts'
import type { JsonMap } from './json.ts'
import { KINDS } from './kinds.ts'
import { SCHEMAS, schemaNamed, schemaOf } from './schema.ts'

const shown = (type: string, value: JsonMap): unknown => conform(schemaNamed(type), value).value

test('every kind has a type, and every type that is named exists', () => {
  for (const kind of KINDS) expect(schemaOf(kind).fields[0]).toBeDefined()
  expect(SCHEMAS.size).toBeGreaterThan(200)
})

test('fields of one type have names and numbers of their own', () => {
  for (const schema of SCHEMAS.values()) {
    const numbers = schema.fields.map((field) => field.numbers.join('.'))
    expect({ type: schema.name, doubles: numbers.length - new Set(numbers).size }).toEqual({
      type: schema.name,
      doubles: 0,
    })
    expect(schema.byName.size).toBe(schema.fields.length)
  }
})

test.each<[string, string, JsonMap, JsonMap]>([
  ['empty values go', 'SecretReference', { name: '', namespace: 'n' }, { namespace: 'n' }],
  ['null is absent', 'SecretReference', { name: null }, {}],
  [
    'a pointer keeps its empty value',
    'PersistentVolumeClaimStatus',
    { currentVolumeAttributesClassName: '' },
    { currentVolumeAttributesClassName: '' },
  ],
  ['an empty map goes', 'PersistentVolumeClaimStatus', { capacity: {} }, {}],
  ['what is always written is filled', 'VolumeAttachmentStatus', {}, { attached: false }],
  [
    'a list that is always written is null',
    'CSINodeDriver',
    { name: 'd', nodeID: 'i' },
    { name: 'd', nodeID: 'i', topologyKeys: null },
  ],
  ['an empty list that is always written is null', 'CSINodeSpec', { drivers: [] }, { drivers: null }],
  ['structures are always written', 'PersistentVolumeClaim', {}, { metadata: {}, spec: { resources: {} }, status: {} }],
  ['a time that is not set is null', 'VolumeError', { message: 'm' }, { message: 'm', time: null }],
  [
    'quantities are canonical',
    'VolumeResourceRequirements',
    { requests: { storage: '1.5' } },
    { requests: { storage: '1500m' } },
  ],
  [
    'times are in UTC and whole seconds',
    'VolumeError',
    { time: '2026-01-02T05:04:05.9+02:00' },
    { time: '2026-01-02T03:04:05Z' },
  ],
  [
    'null in a list is the empty value',
    'NodeSelectorRequirement',
    { key: 'k', operator: 'In', values: [null] },
    { key: 'k', operator: 'In', values: [''] },
  ],
])('%s', (_name, type, given, expected) => {
  expect(shown(type, given)).toEqual(expected)
})

test('strange fields are dropped, and named by their path', () => {
  const { value, unknown } = conform(schemaNamed('PersistentVolumeSpec'), {
    colour: 1,
    csi: { driver: 'd', volumeHandle: 'h', size: 2 },
  })
  expect(unknown).toEqual(['csi.size', 'colour'])
  expect(value['csi']).toEqual({ driver: 'd', volumeHandle: 'h' })
})

test.each<[string, JsonMap, string]>([
  [
    'PersistentVolumeSpec',
    { csi: [] },
    'json: cannot unmarshal array into Go struct field PersistentVolumeSpec.csi of type v1.CSIPersistentVolumeSource',
  ],
  [
    'PersistentVolume',
    { spec: { csi: { driver: 5 } } },
    'json: cannot unmarshal number into Go struct field CSIPersistentVolumeSource.spec.csi.driver of type string',
  ],
  [
    'SecretReference',
    { name: 5 },
    'json: cannot unmarshal number into Go struct field SecretReference.name of type string',
  ],
  [
    'LeaseSpec',
    { leaseDurationSeconds: 1.5 },
    'json: cannot unmarshal number 1.5 into Go struct field LeaseSpec.leaseDurationSeconds of type int32',
  ],
  ['LeaseSpec', { leaseDurationSeconds: 2 ** 31 }, 'of type int32'],
  ['LeaseSpec', { renewTime: '2026-01-02T03:04:05Z' }, 'parsing time "2026-01-02T03:04:05Z"'],
  ['VolumeError', { time: 'soon' }, 'cannot parse "soon" as "2006"'],
  ['ConfigMap', { binaryData: { a: '#' } }, 'illegal base64 data at input byte 0'],
  ['VolumeResourceRequirements', { limits: { a: 'x' } }, 'quantities must match the regular expression'],
])('%s does not take %j', (type, given, message) => {
  expect(() => conform(schemaNamed(type), given)).toThrow(message)
})
