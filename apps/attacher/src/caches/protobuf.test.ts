import {
  CSI_NODE_MESSAGE,
  type KubeObject,
  type MessageReader,
  PERSISTENT_VOLUME_MESSAGE,
  ProtobufReader,
  VOLUME_ATTACHMENT_MESSAGE,
} from '@csi-sidecars/kube-types'
import { anyObject, withOneSource } from '@csi-sidecars/testkit'
import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import { attachmentProjection } from './attachment.ts'
import { nodeProjection } from './node.ts'
import { volumeProjection } from './volume.ts'

/** One of the texts that random objects have in such places. */
const DRIVER = 'csi.example.com'

it('keeps of an attachment the same, whether it comes as protobuf or as JSON', () => {
  sameFromBoth('VolumeAttachment', VOLUME_ATTACHMENT_MESSAGE, attachmentProjection(DRIVER, true))
})

it('keeps of a volume the same, whether it comes as protobuf or as JSON', () => {
  sameFromBoth('PersistentVolume', PERSISTENT_VOLUME_MESSAGE, volumeProjection(DRIVER))
})

it('keeps of a node the same, whether it comes as protobuf or as JSON', () => {
  sameFromBoth('CSINode', CSI_NODE_MESSAGE, nodeProjection(DRIVER))
})

function sameFromBoth<W extends KubeObject>(kind: string, message: MessageReader<W>, project: (object: W) => object) {
  const property = fc.property(fc.nat(), (seed) => {
    const { json, protobuf } = anyObject(kind, { seed, adjust: withOneSource })
    const read = message(new ProtobufReader(protobuf), protobuf.length)
    expect(project(read)).toEqual(project(JSON.parse(json, withoutNulls) as W))
  })
  fc.assert(property, { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 300), seed: 1 })
}

/** JSON has null for these where there is nothing, for whoever wrote the types. */
const NULLS: ReadonlySet<string> = new Set(['nodeSelectorTerms', 'secretNamespace'])

function withoutNulls(key: string, value: unknown): unknown {
  return NULLS.has(key) ? (value ?? undefined) : value
}
