import {
  CreateVolumeRequest,
  type Field,
  ProbeResponse,
  SHAPES,
  type Shape,
  Snapshot,
  VolumeCapability,
} from '@csi-sidecars/csi-proto'
import { expect, test } from '@jest/globals'
import { strippedJson } from './sanitize.ts'

const shapeOf = (name: string): Shape => SHAPES[name]?.() ?? []

/** Returns a message with all fields set, and one member of each oneof. Secrets contain `CANARY`. */
function filled(shape: Shape, member: number): Record<string, unknown> {
  const message: Record<string, unknown> = {}
  const unions = new Map<string, Field[]>()
  for (const field of shape) {
    if (field.oneof === undefined) message[field.property] = content(field, member)
    else unions.set(field.oneof, [...(unions.get(field.oneof) ?? []), field])
  }
  for (const [union, fields] of unions) {
    const field = fields[member % fields.length]
    if (field !== undefined) message[union] = { $case: field.property, value: content(field, member) }
  }
  return message
}

function content(field: Field, member: number): unknown {
  const canary = field.secret ? 'CANARY' : `<${field.name}>`
  const one = (): unknown => {
    switch (field.type.kind) {
      case 'message':
        return filled(field.type.shape(), member)
      case 'enum':
        return Math.max(...Object.values(field.type.values))
      case 'timestamp':
        return { seconds: 1n, nanos: 500_000_000 }
      default:
        return canary
    }
  }
  if (field.many === 'list') return [one(), one()]
  return field.many === 'map' ? { [canary]: one(), other: one() } : one()
}

test.each(Object.keys(SHAPES))('`strippedJson` prints all fields of a %s except its secrets', (name) => {
  const shape = shapeOf(name)
  for (const member of [0, 1]) {
    const text = strippedJson(shape, filled(shape, member))
    const parsed: Record<string, unknown> = JSON.parse(text)
    expect(text).not.toContain('CANARY')
    for (const { name: key, secret, oneof } of shape) {
      if (secret) expect(parsed[key]).toBe('***stripped***')
      else if (oneof === undefined) expect(Object.keys(parsed)).toContain(key)
    }
  }
})

test('`strippedJson` prints the set fields of a message, sorted by their names in the proto file', () => {
  const message = CreateVolumeRequest.create({
    name: 'test-volume',
    capacityRange: { requiredBytes: 2n ** 60n, limitBytes: 0n },
    volumeCapabilities: [
      { accessType: { $case: 'mount', value: { fsType: 'ext4', mountFlags: ['a', 'b'] } }, accessMode: { mode: 5 } },
      { accessType: { $case: 'block', value: {} } },
    ],
    secrets: { password: 'canary' },
    parameters: { b: '2', a: '1' },
    volumeContentSource: {},
    accessibilityRequirements: { requisite: [{ segments: { zone: 'x' } }] },
  })
  expect(strippedJson(shapeOf('CreateVolumeRequest'), message)).toBe(
    '{"accessibility_requirements":{"requisite":[{"segments":{"zone":"x"}}]},' +
      '"capacity_range":{"required_bytes":1152921504606846976},"name":"test-volume","parameters":{"a":"1","b":"2"},' +
      '"secrets":"***stripped***","volume_capabilities":[{"access_mode":{"mode":"MULTI_NODE_MULTI_WRITER"},' +
      '"mount":{"fs_type":"ext4","mount_flags":["a","b"]}},{"block":{}}],"volume_content_source":{}}',
  )
})

test.each([
  ['CreateVolumeRequest', CreateVolumeRequest.create(), '{}'],
  ['ProbeResponse', ProbeResponse.create({ ready: true }), '{"ready":{"value":true}}'],
  ['ProbeResponse', ProbeResponse.create({ ready: false }), '{"ready":{}}'],
  ['ProbeResponse', ProbeResponse.create(), '{}'],
  ['VolumeCapability', { accessType: undefined, accessMode: { mode: 12345 } }, '{"access_mode":{"mode":12345}}'],
  ['VolumeCapability', VolumeCapability.create({ accessMode: {} }), '{"access_mode":{}}'],
  [
    'Snapshot',
    Snapshot.create({ creationTime: { seconds: 1n, nanos: 500_000_000 } }),
    '{"creation_time":{"nanos":500000000,"seconds":1}}',
  ],
  ['Snapshot', Snapshot.create({ readyToUse: true }), '{"ready_to_use":true}'],
  [
    'Snapshot',
    Snapshot.create({ snapshotId: 'a"<b>&\u2028\n' }),
    '{"snapshot_id":"a\\"\\u003cb\\u003e\\u0026\\u2028\\n"}',
  ],
])('`strippedJson` prints %s (case %#) as Go does', (name, message, text) => {
  expect(strippedJson(shapeOf(name), message)).toBe(text)
})
