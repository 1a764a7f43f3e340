import { FakeClock } from '@csi-sidecars/base/testing'
import { recordingQueue, ScriptedInformer } from '@csi-sidecars/controller/testing'
import { PARAMETER_VALUES } from '@csi-sidecars/csi'
import type { InformerEvent } from '@csi-sidecars/informer'
import type { PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import { DRIVER, pv, pvc } from '@csi-sidecars/testkit'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { claimProjection, type ProvisionerClaim } from '../caches/claim.ts'
import type { ProvisionerNode, Registration } from '../caches/cluster.ts'
import { CLONE_FINALIZER, VOLUME_FINALIZER } from '../caches/names.ts'
import { volumeProjection } from '../caches/volume.ts'
import type { DecisionSettings } from './decide.ts'
import { ClaimMemory, type UncertainCall } from './memory.ts'
import {
  anyNodeSource,
  claimTrigger,
  forgetEndedClaims,
  selectedNodeSource,
  wakesOnClaim,
  wakesOnVolume,
} from './triggers.ts'

const FINALIZER = 'external-provisioner/csi-example-com'
const SETTINGS: DecisionSettings = {
  names: { driver: DRIVER, inTree: undefined },
  claimFinalizer: FINALIZER,
  finalizeClaims: true,
  node: undefined,
}
const annotations = { 'volume.kubernetes.io/storage-provisioner': DRIVER }
const project = claimProjection(FINALIZER)
const claim = (resourceVersion: string, metadata: PersistentVolumeClaim['metadata'] = {}) =>
  project(pvc('data', { metadata: { uid: 'u', annotations, ...metadata, resourceVersion } }))

/** The claim after the PV controller has bound it. */
const boundClaim = (resourceVersion: string, metadata: PersistentVolumeClaim['metadata'] = {}): ProvisionerClaim =>
  project(
    pvc('data', {
      metadata: { uid: 'u', annotations, ...metadata, resourceVersion },
      spec: { volumeName: 'pv' },
      status: { phase: 'Bound' },
    }),
  )

const change = <T>(before: T, after: T): InformerEvent<T> => ({ type: 'updated', before, after, origin: 'change' })
const resync = <T>(object: T): InformerEvent<T> => ({
  type: 'updated',
  before: object,
  after: object,
  origin: 'resync',
})

let memory: ClaimMemory
beforeEach(() => {
  memory = new ClaimMemory(new FakeClock(), 0)
})

const keys = (event: InformerEvent<ProvisionerClaim>): readonly string[] => [...claimTrigger(SETTINGS, memory)(event)]

const OUR_WRITES: readonly (readonly [string, ProvisionerClaim])[] = [
  ['our finalizer', claim('2', { finalizers: [FINALIZER] })],
  ['the finalizer of our clones', claim('2', { finalizers: [CLONE_FINALIZER] })],
  ['the values in its parameters', claim('2', { annotations: { ...annotations, [PARAMETER_VALUES]: '{}' } })],
  ['fields that are not cached', claim('2')],
]
const OTHER_WRITES: readonly (readonly [string, ProvisionerClaim])[] = [
  ['a label', claim('2', { labels: { a: 'b' } })],
  ['an annotation', claim('2', { annotations: { ...annotations, a: 'b' } })],
  ['the finalizer of another writer', claim('2', { finalizers: [FINALIZER, 'a/b'] })],
  ['the deletion', claim('2', { deletionTimestamp: '2026-01-01T00:00:00Z' })],
]

describe('claimTrigger', () => {
  it.each(OUR_WRITES)('a change of %s alone does not end the back-off of the claim', (_, after) => {
    expect(keys(change(claim('1'), after))).toEqual([])
  })

  it.each(OTHER_WRITES)('a change of %s ends the back-off of the claim', (_, after) => {
    expect(keys(change(claim('1'), after))).toEqual(['u'])
  })

  const other = { annotations: { 'volume.kubernetes.io/storage-provisioner': 'other' } }
  const finalized = { finalizers: [FINALIZER] }

  it.each<[string, ProvisionerClaim, readonly string[]]>([
    ['of this driver starts a run', claim('1'), ['u']],
    ['of another provisioner starts no run', claim('1', other), []],
    ['of another provisioner with our finalizer starts a run', claim('1', { ...other, ...finalized }), ['u']],
    ['that is bound starts no run', boundClaim('1'), []],
    ['that is bound and has our finalizer starts a run', boundClaim('1', finalized), ['u']],
  ])('at the start and at a resync, a claim %s', (_, object, expected) => {
    expect(keys({ type: 'added', object })).toEqual(expected)
    expect(keys(resync(object))).toEqual(expected)
  })

  it('a change of a claim that stays bound starts no run', () => {
    expect(keys(change(boundClaim('1'), boundClaim('2', { deletionTimestamp: '2026-01-01T00:00:00Z' })))).toEqual([])
  })

  it('a claim with a running CreateVolume call starts a run in any state, until it is deleted', () => {
    memory.uncertainCalls.set('u', {} as UncertainCall)
    expect(keys(change(claim('1'), boundClaim('2')))).toEqual(['u'])
    expect(keys({ type: 'deleted', object: boundClaim('2') })).toEqual([])
    expect(keys({ type: 'deleted', object: claim('1') })).toEqual([])
  })

  it('the deletion of a claim of this driver starts no run', () => {
    expect(keys({ type: 'deleted', object: claim('1') })).toEqual([])
  })
})

describe('forgetEndedClaims', () => {
  /** Returns what is left of a claim that has run: its facts in the memory, and the requests to the queue. */
  function after(event: InformerEvent<ProvisionerClaim>): { readonly isKnown: boolean; readonly requests: string[] } {
    const requests: string[] = []
    const informer = new ScriptedInformer<ProvisionerClaim>()
    memory.recordRun('u')
    forgetEndedClaims(informer, memory)(recordingQueue(requests))
    informer.emit(event)
    return { isKnown: memory.hasRun('u'), requests }
  }

  it.each<[string, InformerEvent<ProvisionerClaim>]>([
    ['is deleted', { type: 'deleted', object: claim('1') }],
    ['becomes bound', change(claim('1'), boundClaim('2'))],
  ])('a claim is forgotten as soon as it %s', (_, event) => {
    expect(after(event)).toEqual({ isKnown: false, requests: ['forget u'] })
  })

  it.each<[string, InformerEvent<ProvisionerClaim>]>([
    ['is still unbound', change(claim('1'), claim('2'))],
    ['is bound and still has our finalizer', change(claim('1'), boundClaim('2', { finalizers: [FINALIZER] }))],
    ['is listed', { type: 'added', object: boundClaim('1') }],
  ])('a claim is not forgotten when it %s', (_, event) => {
    expect(after(event)).toEqual({ isKnown: true, requests: [] })
  })

  it('the key of a deleted claim stays in the queue while its CreateVolume call may run', () => {
    memory.uncertainCalls.set('u', {} as UncertainCall)
    expect(after({ type: 'deleted', object: claim('1') })).toEqual({ isKnown: false, requests: [] })
  })
})

describe('wakesOnClaim', () => {
  const wakes = wakesOnClaim(SETTINGS)
  const woken = [{ kind: 'claim', name: 'default/data' }]

  it.each(OTHER_WRITES)('a change of %s of a source wakes the claims that wait for the source', (_, after) => {
    expect(wakes(change(claim('1'), after))).toEqual(woken)
  })

  it('a source that appears or disappears wakes the claims that wait for it', () => {
    expect(wakes({ type: 'added', object: claim('1') })).toEqual(woken)
    expect(wakes({ type: 'deleted', object: claim('1') })).toEqual(woken)
  })

  it.each(OUR_WRITES)('a change of %s alone wakes no claim', (_, after) => {
    expect(wakes(change(claim('1'), after))).toEqual([])
  })
})

describe('wakesOnVolume', () => {
  const projected = volumeProjection({ driver: DRIVER, inTree: undefined }, undefined)
  const volume = (resourceVersion: string, finalizers: string[], phase?: string) =>
    projected({ ...pv('pv', { metadata: { uid: 'v', finalizers, resourceVersion } }), status: { phase } })

  it('a PersistentVolume that changes or disappears wakes the claims that wait for it', () => {
    const woken = [{ kind: 'volume', name: 'pv' }]
    expect(wakesOnVolume(change(volume('1', []), volume('2', [], 'Released')))).toEqual(woken)
    expect(wakesOnVolume({ type: 'deleted', object: volume('1', []) })).toEqual(woken)
  })

  it('our finalizer on a PersistentVolume wakes no claim', () => {
    expect(wakesOnVolume(change(volume('1', []), volume('2', [VOLUME_FINALIZER])))).toEqual([])
  })
})

describe('the sources of nodes', () => {
  const node = (resourceVersion: string, zone: string): ProvisionerNode => ({
    ...{ key: 'node-1', uid: 'n', resourceVersion },
    labels: { zone },
  })
  const registration = (resourceVersion: string, ...topologyKeys: string[]): Registration => ({
    ...{ key: 'node-1', uid: 'r', resourceVersion },
    topologyKeys,
  })

  it.each([
    ['for its selected node', selectedNodeSource, 'wake node node-1'],
    ['for any node', anyNodeSource, 'wake nodes'],
  ])(
    'a claim that waits %s wakes after a change of labels or of topology keys, until the term ends',
    (_, source, wake) => {
      const requests: string[] = []
      const nodes = new ScriptedInformer<ProvisionerNode>()
      const registrations = new ScriptedInformer<Registration>()
      const end = source({ nodes: nodes.asInformer(), registrations: registrations.asInformer() })(
        recordingQueue(requests),
      )
      nodes.emit(change(node('1', 'z1'), node('2', 'z1')))
      registrations.emit(change(registration('1', 'zone'), registration('2', 'zone')))
      expect(requests).toEqual([])
      nodes.emit(change(node('1', 'z1'), node('2', 'z2')))
      expect(requests.splice(0)).toEqual([wake])
      registrations.emit(change(registration('1'), registration('2', 'zone')))
      expect(requests.splice(0)).toEqual([wake])
      end()
      expect([nodes.listeners.size, registrations.listeners.size]).toEqual([0, 0])
    },
  )
})
