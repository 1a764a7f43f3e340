import type { Event, PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import { bound, pod, pvc, storageClass, vac } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { byObject, byUid, type ClusterFacts } from '../facts/facts.ts'
import { pendingPage } from '../facts/pending.ts'
import { headlineOf } from '../output/explanation.ts'
import { ago, allOf, factsWith, lease, RESIZER_LEASE } from '../testing/facts.ts'
import { claimFindings } from './claim.ts'

const WHO =
  'PersistentVolumeClaim default/pvc-1: external-resizer of csi.example.com has been waiting at least 3m12s for'
const { volume } = bound()
const SOUND: Partial<ClusterFacts> = {
  leases: [lease(RESIZER_LEASE)],
  volumes: allOf(volume),
  storageClasses: allOf(storageClass()),
  attributesClasses: allOf(vac('gold')),
}

const claim = (change: NonNullable<Parameters<typeof pvc>[1]>) => bound({ claim: change }).claim
const MORE = { resources: { requests: { storage: '2Gi' } } }
const condition = (type: string, message?: string) => ({
  type,
  status: 'True',
  lastTransitionTime: ago(192),
  ...(message === undefined ? {} : { message }),
})
const growing = (word?: string, type = 'Resizing') =>
  claim({
    spec: MORE,
    status: {
      ...(word === undefined ? {} : { allocatedResourceStatuses: { storage: word } }),
      allocatedResources: { storage: '2Gi' },
      conditions: [condition(type)],
    },
  })

function event(reason: string, message: string, { last = 9, first = 100 } = {}): Event {
  return {
    metadata: { name: `${reason}.${last}`, namespace: 'default' },
    involvedObject: { kind: 'PersistentVolumeClaim', namespace: 'default', name: 'pvc-1', uid: 'uid-pvc-1' },
    reason,
    message,
    firstTimestamp: ago(first),
    lastTimestamp: ago(last),
    count: 4,
  }
}

interface Row {
  readonly name: string
  readonly claim: PersistentVolumeClaim
  readonly facts?: Partial<ClusterFacts>
  readonly reason: string
  readonly says: string
  readonly stuck?: boolean
}

const IN_USE =
  'Unable to expand default/pvc-1 because CSI driver csi.example.com only supports offline expansion and volume is currently in-use'
const EXPANDING = 'resize volume "pv-1" by resizer "csi.example.com" failed: rpc error: code ='
const IN_PROGRESS = 'ControllerResizeInProgress'

const ROWS: readonly Row[] = [
  {
    name: 'pods that use it, if the driver expands only offline',
    claim: growing(IN_PROGRESS),
    facts: {
      events: byUid([event('VolumeResizeFailed', IN_USE)]),
      pods: [pod('web'), pod('old', { status: { phase: 'Succeeded' } })],
    },
    reason: 'ClaimInUse',
    says: `${WHO} Pod default/web to end, because the driver expands only volumes that are not in use.`,
  },
  {
    name: 'a smaller request',
    claim: growing('ControllerResizeInfeasible'),
    reason: 'InfeasibleSize',
    says: `${WHO} a request that csi.example.com can fulfil: it will never expand the volume to 2Gi.`,
  },
  {
    name: 'a driver that takes too long',
    claim: growing(IN_PROGRESS),
    facts: { events: byUid([event('VolumeResizeFailed', `${EXPANDING} DeadlineExceeded desc = x`)]) },
    reason: 'DriverTooSlow',
    says: `${WHO} driver csi.example.com to answer, which takes longer than the time-out.`,
  },
  {
    name: 'an unreadable Secret',
    claim: growing(IN_PROGRESS),
    facts: {
      events: byUid([
        event('VolumeResizeFailed', 'x: error getting secret creds in namespace storage: secrets "creds" not found'),
      ]),
    },
    reason: 'SecretUnreadable',
    says: `${WHO} Secret storage/creds, which cannot be read.`,
  },
  {
    name: 'a driver that is out of capacity',
    claim: growing(IN_PROGRESS),
    facts: { events: byUid([event('VolumeResizeFailed', `${EXPANDING} ResourceExhausted desc = x`)]) },
    reason: 'DriverRefuses',
    says: `${WHO} driver csi.example.com to do what it has refused with ResourceExhausted.`,
  },
  {
    name: 'a driver that has reported no failure',
    claim: growing(IN_PROGRESS),
    reason: 'DriverSilent',
    says: `${WHO} driver csi.example.com to expand the volume.`,
  },
  {
    name: 'a driver, if the last failure is older than the last success',
    claim: growing(IN_PROGRESS),
    facts: {
      events: byUid([
        event('VolumeResizeFailed', `${EXPANDING} Internal desc = x`, { last: 60 }),
        event('VolumeResizeSuccessful', 'x'),
      ]),
    },
    reason: 'DriverSilent',
    says: `${WHO} driver csi.example.com to expand the volume.`,
  },
  {
    name: 'a leader',
    claim: growing(IN_PROGRESS),
    facts: { leases: [lease(RESIZER_LEASE, { renewed: 60 })] },
    reason: 'NoLeader',
    says: `${WHO} a leader, and no replica leads.`,
  },
  {
    name: 'a pod on whose node the file system can grow',
    claim: growing('NodeResizePending', 'FileSystemResizePending'),
    reason: 'NodeResizePending',
    says: 'the file system of the claim has been waiting at least 3m12s for a pod that uses the claim',
    stuck: false,
  },
  {
    name: 'the kubelet, if a pod runs',
    claim: growing('NodeResizePending', 'FileSystemResizePending'),
    facts: { pods: [pod('web')] },
    reason: 'NodeResizePending',
    says: 'for the kubelet to make it grow, where default/web runs.',
  },
  {
    name: 'a kubelet that has failed to grow the file system',
    claim: growing('NodeResizeInfeasible', 'NodeResizeError'),
    reason: 'NodeResizeFails',
    says: 'the file system of the claim has been waiting at least 3m12s',
  },
  {
    name: 'a VolumeAttributesClass',
    claim: claim({
      spec: { volumeAttributesClassName: 'platinum' },
      status: { modifyVolumeStatus: { status: 'Pending' }, conditions: [condition('ModifyingVolume')] },
    }),
    reason: 'VolumeAttributesClassMissing',
    says: `${WHO} VolumeAttributesClass platinum, which does not exist.`,
  },
  {
    name: 'another VolumeAttributesClass',
    claim: claim({
      spec: { volumeAttributesClassName: 'gold' },
      status: {
        modifyVolumeStatus: { status: 'Infeasible', targetVolumeAttributesClassName: 'gold' },
        conditions: [condition('ModifyVolumeError')],
      },
    }),
    reason: 'ModifyInfeasible',
    says: `${WHO} another VolumeAttributesClass: csi.example.com refuses the parameters of gold.`,
  },
  {
    name: 'a volume that is lost',
    claim: claim({}),
    facts: { volumes: allOf() },
    reason: 'VolumeMissing',
    says: 'PersistentVolumeClaim default/pvc-1: the claim waits for PersistentVolume pv-1, which does not exist; since when is unknown',
  },
  {
    name: 'a volume that is lost, if the claim has the phase Lost',
    claim: claim({ status: { phase: 'Lost' } }),
    facts: { volumes: allOf() },
    reason: 'VolumeMissing',
    says: 'the claim waits for PersistentVolume pv-1, which does not exist; since when is unknown',
  },
  {
    name: 'a StorageClass',
    claim: pvc('pvc-1', { metadata: { creationTimestamp: ago(5) }, spec: { storageClassName: 'none' } }),
    reason: 'StorageClassMissing',
    says: 'the claim has been waiting 5s for StorageClass none, which does not exist.',
  },
]

it.each(ROWS)('a claim waits for $name', ({ claim: object, facts = {}, reason, says, stuck = true }) => {
  const all = factsWith({ ...SOUND, ...facts })
  const [finding, ...more] = claimFindings(object, all)
  if (finding === undefined) throw new Error('no finding')
  expect(more).toEqual([])
  expect(headlineOf(finding, finding.object, all.now)).toContain(says)
  expect(finding).toMatchObject({ reason, stuck })
})

describe('claimFindings', () => {
  it('an earlier failure causes no finding if the requests of a claim are fulfilled', () => {
    const events = byUid([event('VolumeResizeFailed', `${EXPANDING} Internal desc = x`)])
    expect(claimFindings(claim({}), factsWith({ ...SOUND, events }))).toEqual([])
    const done = claim({
      spec: { volumeAttributesClassName: 'gold' },
      status: { currentVolumeAttributesClassName: 'gold' },
    })
    expect(claimFindings(done, factsWith(SOUND))).toEqual([])
  })

  it('a claim with a new request for a larger size has the finding NotBegun', () => {
    const asked = claim({ spec: MORE })
    expect(claimFindings(asked, factsWith(SOUND))).toMatchObject([{ reason: 'NotBegun', sure: 'likely' }])
  })

  it('a claim has a finding even if the user may not read its volume', () => {
    const facts = factsWith({ ...SOUND, volumes: factsWith().volumes })
    expect(claimFindings(growing(IN_PROGRESS), facts)).toMatchObject([
      { waiter: 'external-resizer of (unknown driver)', reason: 'DriverSilent' },
    ])
  })

  it('a claim has separate findings for its size and its class', () => {
    const both = claim({
      spec: { ...MORE, volumeAttributesClassName: 'none' },
      status: { modifyVolumeStatus: { status: 'Pending' } },
    })
    expect(claimFindings(both, factsWith(SOUND)).map(({ reason }) => reason)).toEqual([
      'NotBegun',
      'VolumeAttributesClassMissing',
    ])
  })

  it('a claim in deletion waits for the pods that use it', () => {
    const deleted = claim({
      metadata: { deletionTimestamp: ago(60), finalizers: ['kubernetes.io/pvc-protection', 'a.io/b'] },
    })
    expect(claimFindings(deleted, factsWith({ ...SOUND, pods: [pod('web')] }))).toMatchObject([
      { reason: 'ClaimInUse', waitsFor: 'default/web to end', stuck: true },
      { reason: 'ForeignFinalizer', waitsFor: 'the owner of finalizer a.io/b to remove it' },
    ])
  })

  it('the findings of a claim show the awaited pod and the error that the resizer reports', () => {
    const both = claim({
      spec: { ...MORE, volumeAttributesClassName: 'gold' },
      status: { modifyVolumeStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'gold' } },
    })
    const item = (operation: string, more: object) => ({
      sidecar: 'external-resizer',
      operation,
      object: { kind: 'PersistentVolumeClaim', namespace: 'default', name: 'pvc-1' },
      ...more,
    })
    const answer = {
      items: [
        item('modify', { message: 'rpc error: code = Unavailable desc = x', since: ago(50) }),
        item('expand', { state: 'waiting', waitsFor: ['Pod default/web'], since: ago(60) }),
      ],
    }
    const found = claimFindings(both, factsWith({ ...SOUND, pending: byObject(pendingPage(answer)?.items ?? []) }))
    expect(found).toMatchObject([
      { waitsFor: 'Pod default/web', since: Date.parse(ago(60)), atLeast: false, sure: 'certain' },
      { reason: 'DriverUnavailable', since: Date.parse(ago(50)), atLeast: false },
    ])
  })
})
