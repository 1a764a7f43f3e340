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
import { claimsOf } from '../resize/pod-watch.ts'
import { projectClaim } from './claim.ts'
import { projectClass } from './open.ts'
import { volumeProjection } from './volume.ts'

it('keeps of a claim the same, whether it comes as protobuf or as JSON', () => {
  sameFromBoth('PersistentVolumeClaim', PERSISTENT_VOLUME_CLAIM_MESSAGE, (claim) => projectClaim(claim))
})

it.each(['csi.example.com', 'pd.csi.storage.gke.io'])('keeps of a volume the same for %s, too', (driver) => {
  const project = volumeProjection(driver)
  sameFromBoth('PersistentVolume', PERSISTENT_VOLUME_MESSAGE, (volume) => project(volume))
})

it('keeps of a class the same', () => {
  sameFromBoth('VolumeAttributesClass', VOLUME_ATTRIBUTES_CLASS_MESSAGE, projectClass)
})

it('reads from a pod the same claims', () => {
  sameFromBoth('Pod', POD_MESSAGE, claimsOf)
})

function sameFromBoth<W>(kind: string, message: MessageReader<W>, project: (object: W) => unknown) {
  const property = fc.property(fc.nat(), (seed) => {
    const read = anyObject(kind, message, seed)
    expect(project(read.protobuf)).toEqual(project(read.json))
  })
  fc.assert(property, { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 300), seed: 1 })
}
