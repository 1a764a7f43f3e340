import {
  type MessageReader,
  PERSISTENT_VOLUME_CLAIM_MESSAGE,
  PERSISTENT_VOLUME_MESSAGE,
  POD_MESSAGE,
  ProtobufReader,
  VOLUME_ATTRIBUTES_CLASS_MESSAGE,
} from '@csi-sidecars/kube-types'
import { anyObject, withOneSource } from '@csi-sidecars/testkit'
import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import { claimsOf } from '../resize/pod-watch.ts'
import { projectClass } from './attributes-class.ts'
import { asItIs, projectClaim } from './claim.ts'
import { volumeProjection } from './volume.ts'

it('keeps of a claim the same, whether it comes as protobuf or as JSON', () => {
  sameFromBoth('PersistentVolumeClaim', PERSISTENT_VOLUME_CLAIM_MESSAGE, (claim) => projectClaim(claim))
})

it.each(['csi.example.com', 'pd.csi.storage.gke.io'])('keeps of a volume the same for %s, too', (driver) => {
  const project = volumeProjection(driver)
  sameFromBoth('PersistentVolume', PERSISTENT_VOLUME_MESSAGE, (volume) => project(volume, asItIs))
})

it('keeps of a class the same', () => {
  sameFromBoth('VolumeAttributesClass', VOLUME_ATTRIBUTES_CLASS_MESSAGE, projectClass)
})

it('reads from a pod the same claims', () => {
  sameFromBoth('Pod', POD_MESSAGE, claimsOf)
})

function sameFromBoth<W>(kind: string, message: MessageReader<W>, project: (object: W) => unknown) {
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
