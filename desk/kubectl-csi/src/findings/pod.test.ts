import type { Event, Pod } from '@csi-sidecars/kube-types'
import { bound, csiNode, pod, pv, va } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { byUid, type ClusterFacts } from '../facts/facts.ts'
import { ago, allOf, factsWith } from '../testing/facts.ts'
import { findingsOf } from './findings.ts'
import { podFindings } from './pod.ts'
import { volumeFindings } from './volume.ts'

const { claim, volume } = bound()
const POD = pod('web', { metadata: { uid: 'uid-web', creationTimestamp: ago(120) }, status: { phase: 'Pending' } })
const HERE = va('here', { metadata: { creationTimestamp: ago(40) }, status: { attached: true } })
const THERE = va('there', { spec: { nodeName: 'node-2' }, status: { attached: true } })
const SOUND: Partial<ClusterFacts> = { claims: allOf(claim), volumes: allOf(volume), csiNodes: allOf(csiNode()) }

function event(reason: string, message: string): Event {
  return {
    metadata: { name: 'e', namespace: 'default' },
    involvedObject: { kind: 'Pod', namespace: 'default', name: 'web', uid: 'uid-web' },
    reason,
    message,
    firstTimestamp: ago(90),
    lastTimestamp: ago(3),
  }
}

const reasons = (pod: Pod, facts: Partial<ClusterFacts>) =>
  podFindings(pod, factsWith({ ...SOUND, ...facts })).map(({ reason, waitsFor }) => `${reason}: ${waitsFor}`)

describe('podFindings', () => {
  it.each([
    {
      name: 'another node that has its volume',
      facts: { attachments: [THERE] },
      says: 'MultiAttach: volume pv-1 to be detached from node node-2: it can be attached to one node only',
    },
    {
      name: 'an attachment that was not requested',
      facts: { attachments: [] },
      says: 'NotAskedFor: the attach/detach controller to ask for volume pv-1 on node node-1',
    },
    {
      name: 'a mount that has failed',
      facts: { attachments: [HERE], events: byUid([event('FailedMount', 'no such file system')]) },
      says: 'MountPending: what it has failed for on node node-1: no such file system',
    },
  ])('a pod waits for $name', ({ facts, says }) => {
    expect(reasons(POD, facts)).toEqual([says])
  })

  it('a pod whose claim does not exist has only the finding ClaimMissing', () => {
    expect(reasons(POD, { claims: allOf() })).toEqual([
      'ClaimMissing: PersistentVolumeClaim default/pvc-1, which does not exist',
    ])
  })

  it('a pod without a node has only the finding NotScheduled', () => {
    const unscheduled = pod('web', { ...POD, spec: { nodeName: null } })
    expect(reasons(unscheduled, {})).toEqual(['NotScheduled: the scheduler to choose a node'])
  })

  it('a pod that waits for no volume has no finding', () => {
    expect(reasons(POD, { attachments: [HERE] })).toEqual([])
    const ready = pod('web', { ...POD, status: { conditions: [{ type: 'Ready', status: 'True' }] } })
    expect(reasons(ready, { attachments: [THERE] })).toEqual([])
    expect(reasons(pod('web', { ...POD, status: { phase: 'Failed' } }), { attachments: [THERE] })).toEqual([])
    expect(reasons(pod('web', { ...POD, spec: { volumes: [] } }), { attachments: [THERE] })).toEqual([])
  })

  it('a pod waits for a second attachment of a ReadWriteMany volume', () => {
    const volumes = allOf(pv('pv-1', { spec: { accessModes: ['ReadWriteMany'] } }))
    expect(reasons(POD, { volumes, attachments: [THERE] })).toEqual([
      'NotAskedFor: the attach/detach controller to ask for volume pv-1 on node node-1',
    ])
  })

  it('a pod has no finding if the CSIDriver has `attachRequired: false`', () => {
    const driver = { metadata: { name: 'csi.example.com' }, spec: { attachRequired: false } }
    expect(reasons(POD, { drivers: allOf(driver) })).toEqual([])
  })

  it('a pod gets a finding from its events only if the user may not read attachments', () => {
    const message =
      'AttachVolume.Attach failed for volume "pv-1" : CSINode node-1 does not contain driver csi.example.com'
    const facts = { volumes: allOf(), events: byUid([event('FailedAttachVolume', message)]) }
    const unseen = [{ what: 'volumeattachments.storage.k8s.io', why: 'forbidden', essential: true }]
    expect(reasons(POD, { ...facts, unseen })).toEqual([
      'NodeWithoutDriver: driver csi.example.com to register on node node-1',
    ])
    expect(reasons(POD, facts)).toEqual([])
  })

  it('the wait of a pod begins at its scheduling or at its first failure, whichever is earlier', () => {
    const events = byUid([event('FailedAttachVolume', 'Multi-Attach error for volume "pv-1"')])
    const [finding] = podFindings(POD, factsWith({ ...SOUND, events, attachments: [THERE] }))
    expect(finding?.since).toBe(Date.parse(ago(120)))
    expect(finding?.evidence.map(({ value }) => value)).toContain('Multi-Attach error for volume "pv-1"')
  })
})

describe('volumeFindings', () => {
  const deleted = (finalizers: readonly string[]) =>
    pv('pv-1', { metadata: { deletionTimestamp: ago(60), finalizers } })
  const of = (finalizers: readonly string[], facts: Partial<ClusterFacts> = {}) =>
    volumeFindings(deleted(finalizers), factsWith(facts)).map(({ reason, waitsFor }) => `${reason}: ${waitsFor}`)

  it('the deletion of a volume waits for its attachments', () => {
    expect(of(['external-attacher/csi-example-com'], { attachments: [HERE, THERE] })).toEqual([
      'VolumeStillAttached: VolumeAttachments here, there to be deleted',
    ])
    expect(of(['external-attacher/csi-example-com'])).toEqual([
      'VolumeStillAttached: the attacher to remove its finalizer',
    ])
  })

  it('the deletion of a volume waits for the finalizers of other controllers', () => {
    expect(of(['a.io/b'])).toEqual(['ForeignFinalizer: the owner of finalizer a.io/b to remove it'])
  })

  it('a volume that is not being deleted has no finding', () => {
    expect(volumeFindings(pv(), factsWith())).toEqual([])
  })
})

it('stuck findings come before findings under way, and the oldest finding of each group comes first', () => {
  const attachments = [
    va('young', { metadata: { creationTimestamp: ago(5) } }),
    va('old', { metadata: { creationTimestamp: ago(900) } }),
    va('middle', { metadata: { creationTimestamp: ago(90) } }),
  ]
  const quiet = bound({
    claim: {
      status: {
        allocatedResourceStatuses: { storage: 'NodeResizePending' },
        conditions: [{ type: 'FileSystemResizePending', status: 'True', lastTransitionTime: ago(9999) }],
      },
    },
  }).claim
  const facts = factsWith({ ...SOUND, claims: allOf(quiet), attachments })
  expect(findingsOf(facts).findings.map(({ object, stuck }) => `${object.name} ${stuck}`)).toEqual([
    'old true',
    'middle true',
    'pvc-1 false',
    'young false',
  ])
})

it('an object with an unexpected field value is listed as not seen, with the reason', () => {
  const strange = bound({ claim: { status: { capacity: { storage: 'much' } } } }).claim
  const attachments = [va('old', { metadata: { creationTimestamp: ago(900) } })]
  const { findings, unseen } = findingsOf(factsWith({ ...SOUND, claims: allOf(strange), attachments }))
  expect(findings).toMatchObject([{ object: { name: 'old' } }])
  expect(unseen).toMatchObject([
    { what: 'PersistentVolumeClaim default/pvc-1', why: expect.stringMatching(/^it is not understood: /) },
  ])
})
