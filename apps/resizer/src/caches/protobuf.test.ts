import {
  type MessageReader,
  PERSISTENT_VOLUME_CLAIM_MESSAGE,
  PERSISTENT_VOLUME_MESSAGE,
  POD_MESSAGE,
  VOLUME_ATTRIBUTES_CLASS_MESSAGE,
} from '@csi-sidecars/kube-types'
import { anyObject } from '@csi-sidecars/testkit'
import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import { podClaims } from '../resize/pod-watch.ts'
import { projectClaim } from './claim.ts'
import { projectClass } from './open.ts'
import { volumeProjection } from './volume.ts'

it('a claim from protobuf has the same projection as the claim from JSON', () => {
  sameFromBoth('PersistentVolumeClaim', PERSISTENT_VOLUME_CLAIM_MESSAGE, (claim) => projectClaim(claim))
})

it.each(['csi.example.com', 'pd.csi.storage.gke.io'])('a volume of %s is equal in protobuf and JSON', (driver) => {
  const project = volumeProjection(driver)
  sameFromBoth('PersistentVolume', PERSISTENT_VOLUME_MESSAGE, (volume) => project(volume))
})

it('a VolumeAttributesClass from protobuf has the same projection as from JSON', () => {
  sameFromBoth('VolumeAttributesClass', VOLUME_ATTRIBUTES_CLASS_MESSAGE, projectClass)
})

it('a pod from protobuf uses the same claims as the pod from JSON', () => {
  sameFromBoth('Pod', POD_MESSAGE, podClaims)
})

function sameFromBoth<W>(kind: string, message: MessageReader<W>, project: (object: W) => unknown) {
  const property = fc.property(fc.nat(), (seed) => {
    const read = anyObject(kind, message, seed)
    expect(project(read.protobuf)).toEqual(project(read.json))
  })
  fc.assert(property, { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 300), seed: 1 })
}
