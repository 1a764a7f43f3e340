import type { Node, VolumeAttachment } from '@csi-sidecars/kube-types'
import { csiNode, pod, pv, va } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { byObject, type ClusterFacts } from '../facts/facts.ts'
import { pendingPage } from '../facts/pending.ts'
import { headlineOf } from '../output/explanation.ts'
import { ATTACHER_LEASE, ago, allOf, factsWith, lease } from '../testing/facts.ts'
import { attachmentFindings } from './attachment.ts'

const LED = { leases: [lease(ATTACHER_LEASE)] }
const SOUND: Partial<ClusterFacts> = { ...LED, volumes: allOf(pv()), csiNodes: allOf(csiNode()) }
const OURS = 'external-attacher/csi-example-com'
const WHO = 'VolumeAttachment va-1: external-attacher of csi.example.com has been waiting 3m12s for'

const attaching = (change: NonNullable<Parameters<typeof va>[1]> = {}) =>
  va('va-1', { ...change, metadata: { creationTimestamp: ago(192), ...change.metadata } })
const failing = (message: string) => attaching({ status: { attached: false, attachError: { message, time: ago(9) } } })
const detaching = (message?: string) =>
  attaching({
    metadata: { creationTimestamp: ago(9999), deletionTimestamp: ago(192), finalizers: [OURS] },
    status: { attached: true, ...(message === undefined ? {} : { detachError: { message, time: ago(9) } }) },
  })

interface Row {
  readonly name: string
  readonly va: VolumeAttachment
  readonly facts?: Partial<ClusterFacts>
  readonly reason: string
  readonly says: string
  readonly sure?: string
  readonly stuck?: boolean
}

const rpc = (code: string): string => `rpc error: code = ${code} desc = no`

const ROWS: readonly Row[] = [
  {
    name: 'a node without the driver',
    va: failing('CSINode node-1 does not contain driver csi.example.com'),
    facts: { csiNodes: allOf(csiNode('node-1', { spec: { drivers: [] } })) },
    reason: 'NodeWithoutDriver',
    says: `${WHO} driver csi.example.com to register on node node-1.`,
    sure: 'certain',
  },
  {
    name: 'a node without a CSINode, before any failure',
    va: attaching(),
    facts: { csiNodes: allOf() },
    reason: 'NodeWithoutDriver',
    says: `${WHO} driver csi.example.com to register on node node-1.`,
    sure: 'certain',
  },
  {
    name: 'only an error message, because CSINodes may not be read',
    va: failing('csinode.storage.k8s.io "node-1" not found'),
    facts: { csiNodes: factsWith().csiNodes },
    reason: 'NodeWithoutDriver',
    says: `${WHO} driver csi.example.com to register on node node-1.`,
    sure: 'likely',
  },
  {
    name: 'a volume that is missing',
    va: failing('whatever'),
    facts: { volumes: allOf() },
    reason: 'VolumeMissing',
    says: `${WHO} PersistentVolume pv-1, which does not exist.`,
    sure: 'certain',
  },
  {
    name: 'a volume that was deleted before the detach',
    va: detaching('persistentvolume "pv-1" not found'),
    facts: { volumes: allOf() },
    reason: 'VolumeGone',
    says: `${WHO} PersistentVolume pv-1, which does not exist, and without which the volume to detach is unknown.`,
    sure: 'certain',
  },
  {
    name: 'a volume in deletion',
    va: failing('PersistentVolume "pv-1" is marked for deletion'),
    reason: 'VolumeBeingDeleted',
    says: `${WHO} PersistentVolume pv-1, which is being deleted.`,
  },
  {
    name: 'an unreadable Secret',
    va: failing('failed to load secret "storage/creds": secrets "creds" not found'),
    reason: 'SecretUnreadable',
    says: `${WHO} Secret storage/creds, which cannot be read.`,
  },
  {
    name: 'a full node',
    va: failing(rpc('ResourceExhausted')),
    reason: 'NodeFull',
    says: `${WHO} room for one more volume of csi.example.com on node node-1.`,
  },
  {
    name: 'a volume that is attached to another node',
    va: failing(rpc('FailedPrecondition')),
    reason: 'AttachedElsewhere',
    says: `${WHO} the volume to leave the node where csi.example.com still has it.`,
  },
  {
    name: 'a driver that takes too long',
    va: failing(rpc('DeadlineExceeded')),
    reason: 'DriverTooSlow',
    says: `${WHO} driver csi.example.com to answer, which takes longer than the time-out.`,
  },
  {
    name: 'an unavailable driver',
    va: failing(rpc('Unavailable')),
    reason: 'DriverUnavailable',
    says: `${WHO} driver csi.example.com to be reachable.`,
  },
  {
    name: 'any other refusal of a detach',
    va: detaching(rpc('Internal')),
    reason: 'DriverRefuses',
    says: `${WHO} driver csi.example.com to do what it has refused with Internal.`,
  },
  {
    name: 'an unknown error message',
    va: failing('no way'),
    reason: 'AttachFails',
    says: `${WHO} what the last try has failed for: no way.`,
  },
  {
    name: 'a Lease that is not renewed',
    va: attaching(),
    facts: { leases: [lease(ATTACHER_LEASE, { renewed: 31 })] },
    reason: 'NoLeader',
    says: `${WHO} a leader, and no replica leads.`,
    sure: 'likely',
  },
  {
    name: 'a released Lease after a failure',
    va: failing(rpc('Unavailable')),
    facts: { leases: [lease(ATTACHER_LEASE, { holder: '' })] },
    reason: 'NoLeader',
    says: `${WHO} a leader, and no replica leads; after that for driver csi.example.com to be reachable.`,
  },
  {
    name: 'no error, with a leader',
    va: attaching(),
    reason: 'DriverSilent',
    says: `${WHO} its turn, or for driver csi.example.com to answer.`,
    sure: 'likely',
  },
  {
    name: 'no error, with the finalizer',
    va: attaching({ metadata: { finalizers: [OURS] } }),
    reason: 'DriverSilent',
    says: `${WHO} driver csi.example.com to answer.`,
  },
  {
    name: 'no error, without a sign of an attacher',
    va: detaching(),
    facts: { leases: [] },
    reason: 'NoSidecarSeen',
    says: `${WHO} an external-attacher for csi.example.com, of which there is no sign.`,
    sure: 'possible',
  },
  {
    name: 'no error, and Leases may not be read',
    va: attaching(),
    facts: { leases: undefined },
    reason: 'DriverSilent',
    says: `${WHO} its turn, or for driver csi.example.com to answer.`,
    sure: 'possible',
  },
  {
    name: 'no error, for a short time',
    va: attaching({ metadata: { creationTimestamp: ago(29) } }),
    reason: 'DriverSilent',
    says: WHO.replace('3m12s', '29s'),
    stuck: false,
  },
]

it.each(ROWS)(
  'the finding of a waiting attachment names the cause: $name',
  ({ va: object, facts = {}, reason, says, sure, stuck = true }) => {
    const all = factsWith({ ...SOUND, ...facts })
    const [finding, ...more] = attachmentFindings(object, all)
    if (finding === undefined) throw new Error('no finding')
    expect(more).toEqual([])
    expect(headlineOf(finding, finding.object, all.now).startsWith(says.replace(/\.$/, ''))).toBe(true)
    expect(headlineOf(finding, finding.object, all.now)).toContain(says)
    expect(finding).toMatchObject({ reason, stuck, ...(sure === undefined ? {} : { sure }) })
  },
)

describe('pending work', () => {
  const item = (more: object) =>
    byObject(
      pendingPage({
        items: [
          {
            sidecar: 'external-attacher',
            driver: 'csi.example.com',
            operation: 'attach',
            object: { kind: 'VolumeAttachment', namespace: '', name: 'va-1' },
            ...more,
          },
        ],
      })?.items ?? [],
    )

  it('an attachment has the finding DriverCalled while the attacher reports a running driver call', () => {
    const facts = factsWith({ ...SOUND, pending: item({ state: 'calling', since: ago(100), stuck: true }) })
    expect(attachmentFindings(attaching(), facts)).toMatchObject([
      { reason: 'DriverCalled', waitsFor: 'driver csi.example.com to answer its call', sure: 'certain', stuck: true },
    ])
  })

  it('a finding names the object that the attacher waits for according to /debug/stuck', () => {
    const pending = item({ state: 'waiting', reason: 'VolumeOrNodeBusy', waitsFor: ['detach of va-0'] })
    expect(attachmentFindings(attaching(), factsWith({ ...SOUND, pending }))).toMatchObject([
      { reason: 'VolumeOrNodeBusy', waitsFor: 'detach of va-0' },
    ])
  })

  it('a finding shows the failure and the next attempt from /debug/stuck of the attacher', () => {
    const pending = item({ state: 'backoff', message: rpc('Unavailable'), tries: 3, nextTry: ago(-5) })
    const [finding] = attachmentFindings(attaching(), factsWith({ ...SOUND, pending }))
    expect(finding).toMatchObject({ reason: 'DriverUnavailable' })
    expect(finding?.evidence.map(({ field, value }) => `${field} ${value}`)).toEqual(
      expect.arrayContaining(['tries 3', `nextTry ${ago(-5)}`, 'state attach, backoff']),
    )
  })
})

it.each([
  ['is gone', allOf(), ['.metadata.name: (there is no such object)']],
  ['is down', allOf(node('Unknown')), [`.status.conditions[Ready]: Unknown, since ${ago(70)}, NodeStatusUnknown`]],
  ['is ready', allOf(node('True')), []],
])('the evidence includes a node only if it is missing or not ready: a node that %s', (_, nodes, expected) => {
  const [finding] = attachmentFindings(detaching(), factsWith({ ...SOUND, nodes }))
  const nodeEvidence = finding?.evidence.filter(({ object }) => object.kind === 'Node') ?? []
  expect(nodeEvidence.map(({ field, value }) => `${field}: ${value}`)).toEqual(expected)
})

function node(status: string): Node {
  const condition = { type: 'Ready', status, lastTransitionTime: ago(70), reason: 'NodeStatusUnknown' }
  return { metadata: { name: 'node-1' }, status: { conditions: [condition] } }
}

it('an attached attachment has no finding', () => {
  expect(attachmentFindings(attaching({ status: { attached: true } }), factsWith(SOUND))).toEqual([])
})

it("an attachment without the attacher's finalizer waits for the owner of another finalizer", () => {
  const object = attaching({ metadata: { deletionTimestamp: ago(192), finalizers: ['example.com/keep'] } })
  expect(attachmentFindings(object, factsWith(SOUND))).toMatchObject([
    {
      reason: 'ForeignFinalizer',
      waiter: 'the deletion of VolumeAttachment va-1',
      waitsFor: 'the owner of finalizer example.com/keep to remove it',
      stuck: true,
    },
  ])
})

it('if several Leases have the same name, the Lease that was renewed last counts', () => {
  const leases = [lease(ATTACHER_LEASE, { renewed: 9999 }), lease(ATTACHER_LEASE, { renewed: 2 })]
  expect(attachmentFindings(attaching(), factsWith({ ...SOUND, leases }))).toMatchObject([{ reason: 'DriverSilent' }])
})

describe('unready containers', () => {
  const crashing = pod('pod-a', {
    metadata: { namespace: 'storage' },
    status: {
      containerStatuses: [
        { name: 'csi-attacher', ready: true, image: 'x', imageID: 'x', restartCount: 0 },
        {
          name: 'csi-driver',
          ready: false,
          image: 'x',
          imageID: 'x',
          restartCount: 9,
          state: { waiting: { reason: 'CrashLoopBackOff' } },
        },
      ],
    },
  })
  const sidecarPods = new Map([[`storage/${ATTACHER_LEASE}`, [crashing]]])
  const container = 'container csi-driver of Pod storage/pod-a (waiting: CrashLoopBackOff)'

  it("an unready container in the leader's pod is the likely cause of a wait without an error", () => {
    expect(attachmentFindings(attaching(), factsWith({ ...SOUND, sidecarPods }))).toMatchObject([
      { reason: 'ContainerNotReady', waitsFor: `${container} to be ready`, sure: 'likely', stuck: true },
    ])
  })

  it('the finding names an unready container in the pod of the sidecar if there is no leader', () => {
    const leases = [lease(ATTACHER_LEASE, { holder: '' })]
    const [finding] = attachmentFindings(attaching(), factsWith({ ...SOUND, leases, sidecarPods }))
    expect(finding?.waitsFor).toBe(`a leader, and no replica leads, with ${container} not ready`)
    expect(finding?.evidence).toContainEqual({
      object: { kind: 'Pod', namespace: 'storage', name: 'pod-a' },
      field: '.status.containerStatuses[csi-driver]',
      value: 'not ready, waiting: CrashLoopBackOff',
    })
  })
})
