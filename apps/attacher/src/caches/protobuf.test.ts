import {
  CSI_NODE_MESSAGE,
  type KubeObject,
  type MessageReader,
  PERSISTENT_VOLUME_MESSAGE,
  VOLUME_ATTACHMENT_MESSAGE,
} from '@csi-sidecars/kube-types'
import { anyObject } from '@csi-sidecars/testkit'
import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import { attachmentProjection } from './attachment.ts'
import { nodeProjection } from './open.ts'
import { volumeProjection } from './volume.ts'

/** The driver name that the projections look for. Random objects often contain it. */
const DRIVER = 'csi.example.com'

it('the cached fields of an attachment are the same from protobuf and from JSON', () => {
  sameFromBoth('VolumeAttachment', VOLUME_ATTACHMENT_MESSAGE, attachmentProjection(DRIVER, true))
})

it('the cached fields of a volume are the same from protobuf and from JSON', () => {
  sameFromBoth('PersistentVolume', PERSISTENT_VOLUME_MESSAGE, volumeProjection(DRIVER))
})

it('the cached fields of a CSINode are the same from protobuf and from JSON', () => {
  sameFromBoth('CSINode', CSI_NODE_MESSAGE, nodeProjection(DRIVER))
})

function sameFromBoth<W extends KubeObject>(kind: string, message: MessageReader<W>, project: (object: W) => object) {
  const property = fc.property(fc.nat(), (seed) => {
    const read = anyObject(kind, message, seed)
    expect(project(read.protobuf)).toEqual(project(read.json))
  })
  fc.assert(property, { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 300), seed: 1 })
}
