import { expect, test } from '@jest/globals'
import { conform } from './conform.ts'
import type { JsonMap } from './json.ts'
import { KINDS } from './kinds.ts'
import { SCHEMAS, schemaNamed, schemaOf } from './schema.ts'

const conformed = (type: string, value: JsonMap): unknown => conform(schemaNamed(type), value).value

test('every served kind has a type, and every referenced type exists', () => {
  for (const kind of KINDS) expect(schemaOf(kind).fields[0]).toBeDefined()
  expect(SCHEMAS.size).toBeGreaterThan(200)
})

test('no two fields of a type have the same name or number', () => {
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
  ['empty values are dropped', 'SecretReference', { name: '', namespace: 'n' }, { namespace: 'n' }],
  ['null counts as absent', 'SecretReference', { name: null }, {}],
  [
    'a pointer keeps its empty value',
    'PersistentVolumeClaimStatus',
    { currentVolumeAttributesClassName: '' },
    { currentVolumeAttributesClassName: '' },
  ],
  ['an empty map is dropped', 'PersistentVolumeClaimStatus', { capacity: {} }, {}],
  ['a missing required field gets its zero value', 'VolumeAttachmentStatus', {}, { attached: false }],
  [
    'a missing required list becomes null',
    'CSINodeDriver',
    { name: 'd', nodeID: 'i' },
    { name: 'd', nodeID: 'i', topologyKeys: null },
  ],
  ['an empty required list becomes null', 'CSINodeSpec', { drivers: [] }, { drivers: null }],
  ['missing structures are added', 'PersistentVolumeClaim', {}, { metadata: {}, spec: { resources: {} }, status: {} }],
  ['an unset time becomes null', 'VolumeError', { message: 'm' }, { message: 'm', time: null }],
  [
    'quantities become canonical',
    'VolumeResourceRequirements',
    { requests: { storage: '1.5' } },
    { requests: { storage: '1500m' } },
  ],
  [
    'times become UTC with whole seconds',
    'VolumeError',
    { time: '2026-01-02T05:04:05.9+02:00' },
    { time: '2026-01-02T03:04:05Z' },
  ],
  [
    'null in a list becomes the empty value',
    'NodeSelectorRequirement',
    { key: 'k', operator: 'In', values: [null] },
    { key: 'k', operator: 'In', values: [''] },
  ],
])('a stored object has the form of the Go types: %s', (_name, type, value, expected) => {
  expect(conformed(type, value)).toEqual(expected)
})

test('unknown fields are dropped, and reported by their path', () => {
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
])('the type %s refuses the value %j', (type, value, message) => {
  expect(() => conform(schemaNamed(type), value)).toThrow(message)
})
