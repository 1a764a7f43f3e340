import { ControllerPublishVolume, ControllerUnpublishVolume } from '@csi-sidecars/csi-proto'
import { Interner } from '@csi-sidecars/informer'
import type { CSINode, PersistentVolume, VolumeAttachment } from '@csi-sidecars/kube-types'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { concernsUs, releasePatch } from '../persistent-volume/decide.ts'
import { compareAttachment } from '../published-nodes/resync.ts'
import { DRIVER, FINALIZER, view } from '../testing/views.ts'
import { decideAttach } from '../volume-attachment/decide-attach.ts'
import { decideDetach } from '../volume-attachment/decide-detach.ts'
import { placementOf } from '../volume-attachment/lanes.ts'
import { AttachmentMemory } from '../volume-attachment/memory.ts'
import { onAttachment } from '../volume-attachment/triggers.ts'
import { nodeOf, readVolume } from '../volumes/volume-view.ts'
import { attachmentProjection, type CachedAttachment, NODE_ID_ANNOTATION } from './attachment.ts'
import { nodeProjection } from './open.ts'
import { volumeProjection } from './volume.ts'

const METADATA = {
  name: 'x',
  uid: 'u',
  resourceVersion: '1',
  finalizers: [FINALIZER],
  annotations: { [NODE_ID_ANNOTATION]: 'id', 'pv.kubernetes.io/migrated-to': DRIVER },
  labels: { a: 'b' },
  ownerReferences: [{ name: 'o' }],
}
const SPEC = {
  accessModes: ['ReadWriteOnce'],
  volumeMode: 'Filesystem',
  mountOptions: ['ro'],
  csi: {
    driver: DRIVER,
    volumeHandle: 'h',
    readOnly: true,
    fsType: 'ext4',
    volumeAttributes: { a: 'b' },
    controllerPublishSecretRef: { name: 's', namespace: 'n' },
  },
}
const { csi: _, ...WITHOUT_CSI } = SPEC
const VA = {
  metadata: METADATA,
  spec: { attacher: DRIVER, nodeName: 'n', source: { persistentVolumeName: 'x', inlineVolumeSpec: SPEC } },
  status: { attached: true, attachmentMetadata: { a: 'b' }, attachError: { message: 'm', time: 't', errorCode: 1 } },
}
const PVS = [
  { metadata: METADATA, spec: SPEC },
  {
    metadata: METADATA,
    spec: { ...WITHOUT_CSI, awsElasticBlockStore: { volumeID: 'v', fsType: 'xfs', partition: 1 } },
  },
  { metadata: METADATA, spec: { ...WITHOUT_CSI, gcePersistentDisk: { pdName: 'd', partition: 1 } } },
  { metadata: METADATA, spec: { ...WITHOUT_CSI, azureDisk: { diskName: 'd', diskURI: 'u', kind: 'Managed' } } },
  {
    metadata: METADATA,
    spec: { ...WITHOUT_CSI, azureFile: { shareName: 's', secretName: 't' }, claimRef: { namespace: 'n' } },
  },
  { metadata: METADATA, spec: { ...WITHOUT_CSI, cinder: { volumeID: 'v' } } },
  { metadata: METADATA, spec: { ...WITHOUT_CSI, vsphereVolume: { volumePath: 'p' } } },
  { metadata: METADATA, spec: { ...WITHOUT_CSI, portworxVolume: { volumeID: 'v' } } },
]
const NODE = { metadata: METADATA, spec: { drivers: [{ name: DRIVER, nodeID: 'id' }] } }

/** Returns copies of the object in which a few fields are missing or have a random value. */
function damaged(object: object): fc.Arbitrary<object> {
  const place = fc.constantFrom(...pathsOf(object))
  const damage = fc.option(fc.jsonValue({ maxDepth: 2 }), { nil: undefined, freq: 4 })
  return fc
    .array(fc.tuple(place, damage), { minLength: 1, maxLength: 3 })
    .map((damages) => damages.reduce((object, [path, value]) => replaced(object, path, value), object))
}

function pathsOf(value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [[key], ...pathsOf(inner).map((path) => [key, ...path])])
}

function replaced(object: object, [key = '', ...rest]: string[], value: unknown): object {
  if (typeof object !== 'object' || object === null) return object
  const inner: unknown = (object as Record<string, unknown>)[key]
  const changed = rest.length === 0 ? value : replaced(inner as object, rest, value)
  const changes = { ...object, [key]: changed }
  return Array.isArray(object) ? Object.values(changes) : changes
}

const runs = { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 1_000), seed: 1 }
const json = fc.dictionary(fc.constantFrom('metadata', 'spec', 'status', 'kind'), fc.jsonValue({ maxDepth: 4 }))
const anyVa = fc.oneof(damaged(VA), json).map((object) => attachmentProjection(DRIVER)(object as VolumeAttachment))
const anyPv = fc.oneof(...PVS.map(damaged), json).map((object) => object as PersistentVolume)
const anyNode = fc.oneof(damaged(NODE), json).map((object) => nodeProjection(DRIVER)(object as CSINode))

describe('random objects', () => {
  it('the attacher can encode the CSI requests that it makes from random API objects', async () => {
    const property = fc.asyncProperty(anyVa, anyPv, anyNode, fc.boolean(), async (any, pv, node, alone) => {
      const va: CachedAttachment = { ...any, ours: true, ...(alone && { inlineSpec: undefined }) }
      const volumes = { get: () => volumeProjection(DRIVER)(pv) }
      const api = { get: async () => pv as never }
      const volume = await readVolume(va, { volumes, api }, new AbortController().signal)
      const undamagedView = view({ va, volume, node: nodeOf(va, { get: () => node }), listingDiffers: true })
      for (const step of decideAttach(undamagedView)) {
        if (step.kind === 'publish') ControllerPublishVolume.requestSerialize({ ...step.request, secrets: {} })
      }
      for (const step of decideDetach(undamagedView)) {
        if (step.kind === 'unpublish') ControllerUnpublishVolume.requestSerialize({ ...step.request, secrets: {} })
      }
      compareAttachment(undamagedView, new Map(), DRIVER)
      placementOf(
        va.key,
        { maxInflightPerNode: 1 },
        { attachments: { get: () => va }, volumes, memory: new AttachmentMemory() },
      )
    })
    await fc.assert(property, runs)
  })

  it('watch events of random attachments and volumes cause no error in the attacher', () => {
    const trigger = onAttachment(FINALIZER, recordingLogger())
    const property = fc.property(anyVa, anyVa, anyPv, (before, after, pv) => {
      for (const origin of ['change', 'resync'] as const) {
        trigger({ type: 'updated', before, after, origin }, { isInWork: () => false })
      }
      const volume = volumeProjection(DRIVER)(pv)
      concernsUs(volume, { driverName: DRIVER, finalizer: FINALIZER })
      releasePatch(volume, [], { driverName: DRIVER, finalizer: FINALIZER })
    })
    fc.assert(property, runs)
  })
})

describe('projections', () => {
  it("the cache keeps only the volume name of another attacher's attachment", () => {
    const foreign = attachmentProjection('other')(VA as unknown as VolumeAttachment)
    expect(Object.entries(foreign).filter(([, value]) => value !== undefined && value !== '')).toEqual([
      ['key', 'x'],
      ['resourceVersion', '1'],
      ['uid', 'u'],
      ['ours', false],
      ['pvName', 'x'],
      ['deleting', false],
      ['hasAnnotations', false],
    ])
  })

  it('several cached objects share one copy of equal lists and maps', () => {
    const interner = new Interner()
    const wireVolume = { metadata: METADATA, spec: SPEC } as unknown as PersistentVolume
    const va = VA as unknown as VolumeAttachment
    const [volume, other] = [1, 2].map(() => volumeProjection(DRIVER)(structuredClone(wireVolume), interner))
    expect(volume?.finalizers).toBe(other?.finalizers)
    expect(volume?.spec?.accessModes).toBe(other?.spec?.accessModes)
    expect(volume?.spec?.mountOptions).toBe(other?.spec?.mountOptions)
    expect(volume?.spec?.csi?.volumeAttributes).toBe(other?.spec?.csi?.volumeAttributes)
    expect(volume).toEqual(volumeProjection(DRIVER)(wireVolume))
    const [attachment, second] = [1, 2].map(() => attachmentProjection(DRIVER)(structuredClone(va), interner))
    expect(attachment?.finalizers).toBe(second?.finalizers)
    expect(attachment?.metadata).toBe(second?.metadata)
    expect(attachment).toEqual(attachmentProjection(DRIVER)(va))
  })

  it.each([
    { name: 'no drivers', spec: {} },
    { name: 'null drivers', spec: { drivers: null } },
    { name: 'a null among the drivers', spec: { drivers: [null] } },
    { name: 'another driver', spec: { drivers: [{ name: 'other', nodeID: 'id' }] } },
    { name: 'a driver without an id', spec: { drivers: [{ name: DRIVER }] } },
  ])('the cache finds no node ID in a CSINode with $name', ({ spec }) => {
    expect(nodeProjection(DRIVER)({ metadata: { name: 'n' }, spec } as CSINode).nodeId).toBeUndefined()
  })

  it('a cached attachment changes with its labels, annotations and owners, but not with their order', () => {
    const rest = (metadata: object): string => attachmentProjection(DRIVER)({ ...VA, metadata } as never).otherMetadata
    expect(rest({ labels: { a: '1', b: '2' } })).toBe(rest({ labels: { b: '2', a: '1' } }))
    const all = [{ labels: { a: '1' } }, { annotations: { a: '1' } }, { ownerReferences: [{ name: 'a' }] }]
    expect(new Set(all.map(rest)).size).toBe(3)
    expect(rest({ annotations: { [NODE_ID_ANNOTATION]: 'id' }, labels: {} })).toBe('')
  })
})
