import { expect, test } from '@jest/globals'
import * as proto from './index.ts'

const request: proto.ControllerPublishVolumeRequest = {
  volumeId: 'vol-1',
  nodeId: 'node-ä',
  volumeCapability: {
    accessType: { $case: 'mount', value: { fsType: 'ext4', mountFlags: ['ro', 'noatime'], volumeMountGroup: '' } },
    accessMode: { mode: proto.VolumeCapability_AccessMode_Mode.SINGLE_NODE_WRITER },
  },
  readonly: true,
  secrets: { user: 'u', password: 'p' },
  volumeContext: { pool: 'fast' },
}

test('the proto file of CSI marks 22 fields as secret', () => {
  const secrets = Object.entries(proto.SHAPES).flatMap(([message, shape]) =>
    shape()
      .filter(({ secret }) => secret)
      .map(({ name }) => `${message}.${name}`),
  )
  expect(secrets).toHaveLength(22)
  expect(secrets).toContain('ControllerPublishVolumeRequest.secrets')
  expect(secrets).toContain('NodeExpandVolumeRequest.secrets')
})

test('the description of each CSI message contains exactly the properties of its generated type', () => {
  const messages = proto as unknown as Readonly<Record<string, { create(): object }>>
  for (const [name, shape] of Object.entries(proto.SHAPES)) {
    const properties = new Set(shape().map(({ property, oneof }) => oneof ?? property))
    expect({ name, properties: [...properties].sort() }).toEqual({
      name,
      properties: Object.keys(messages[name]?.create() ?? {}).sort(),
    })
  }
})

test('decoding an encoded request returns the same request', () => {
  const method = proto.ControllerPublishVolume
  expect(method.path).toBe('/csi.v1.Controller/ControllerPublishVolume')
  expect(method.requestDeserialize(method.requestSerialize(request))).toEqual(request)
})

test('64-bit sizes in messages keep all bits after encoding and decoding', () => {
  const sent = { capacityBytes: 2n ** 62n + 1n, nodeExpansionRequired: true }
  const method = proto.ControllerExpandVolume
  expect(method.responseDeserialize(method.responseSerialize(sent))).toEqual(sent)
})

test('the bytes of an encoded request match the published CSI definition', () => {
  const bytes = proto.ControllerUnpublishVolume.requestSerialize({ volumeId: 'v', nodeId: 'n', secrets: { k: 's' } })
  expect(bytes.toString('hex')).toBe('0a017612016e1a060a016b120173')
})

test('the decoder returns an unknown capability as its number', () => {
  const bytes = Buffer.from('0a040a02080b' /* capabilities { rpc { type: 11 } } */, 'hex')
  expect(proto.ControllerGetCapabilities.responseDeserialize(bytes)).toEqual({
    capabilities: [{ type: { $case: 'rpc', value: { type: 11 } } }],
  })
})

test('map keys of a message survive encoding and decoding, even the key `__proto__`', () => {
  const entries = [
    ['__proto__', 'a'],
    ['constructor', 'b'],
    ['', 'c'],
  ] as const
  const method = proto.ControllerPublishVolume
  const sent = { publishContext: Object.fromEntries(entries) }
  const { publishContext } = method.responseDeserialize(method.responseSerialize(sent))
  expect(Object.entries(publishContext)).toEqual(entries)
})

test.each([
  ['a value of a map', proto.ControllerPublishVolume.responseDeserialize, '0a060a01611201ff'],
  ['a key of a map', proto.ControllerPublishVolume.responseDeserialize, '0a070a02c328120161'],
  ['a name', proto.GetPluginInfo.responseDeserialize, '0a0361fe62'],
  ['an id in a list', proto.ListVolumes.responseDeserialize, '0a0512030a01ff'],
])('the decoder refuses a message with %s that is not UTF-8', (_, read, hex) => {
  expect(() => read(Buffer.from(hex, 'hex'))).toThrow('string field contains invalid UTF-8')
})

test('the decoder ignores unknown fields', () => {
  const bytes = Buffer.from('0a0812060a016e12010801', 'hex') // an old `volume_condition`, then the node ID
  expect(proto.ListVolumes.responseDeserialize(bytes.subarray(0, 10))).toEqual({
    entries: [{ volume: undefined, status: { publishedNodeIds: ['n'] } }],
    nextToken: '',
  })
})

test('a server finds each handler under the name of its RPC', () => {
  expect(Object.keys(proto.IdentityService)).toEqual(['getPluginInfo', 'getPluginCapabilities', 'probe'])
  expect(proto.SnapshotMetadataService.getMetadataDelta.responseStream).toBe(true)
  expect(Object.values(proto.ControllerService).map(({ path }) => path)).toContain('/csi.v1.Controller/GetSnapshot')
})
