import type { Event, Node } from '@csi-sidecars/kube-types'
import { bound, csiNode, pod, pv, pvc, storageClass, va } from '@csi-sidecars/testkit'
import { expect, it } from '@jest/globals'
import { byObject, byUid, type Facts } from '../facts/facts.ts'
import { pendingPage } from '../facts/pending.ts'
import { headlineOf } from '../output/explanation.ts'
import { ATTACHER_LEASE, ago, allOf, factsWith, lease } from '../testing/facts.ts'
import { findingsOf } from './findings.ts'

/** States of a volume's life, from pending to deleted, and what each waits for. */

const { claim, volume } = bound()
const pending = (spec = {}) =>
  pvc('pvc-1', { metadata: { uid: 'uid-pvc-1', creationTimestamp: ago(300) }, spec, status: { phase: 'Pending' } })
const attaching = va('va-1', { metadata: { creationTimestamp: ago(300) } })
const web = (more: Parameters<typeof pod>[1] = {}) =>
  pod('web', { metadata: { uid: 'uid-web', creationTimestamp: ago(300) }, status: { phase: 'Pending' }, ...more })
const down: Node = {
  metadata: { name: 'node-2' },
  status: { conditions: [{ type: 'Ready', status: 'Unknown' }] },
}

function said(kind: string, uid: string, [reason, message]: readonly [string, string]): Facts['events'] {
  const event: Event = {
    metadata: { name: 'e', namespace: 'default' },
    involvedObject: { kind, namespace: 'default', uid },
    reason,
    message,
    firstTimestamp: ago(250),
    lastTimestamp: ago(3),
  }
  return byUid([event])
}

const SOUND: Partial<Facts> = {
  leases: [lease(ATTACHER_LEASE)],
  volumes: allOf(volume),
  csiNodes: allOf(csiNode()),
  storageClasses: allOf(storageClass()),
}
const provisioning = (message: string): Partial<Facts> => ({
  claims: allOf(pending({ storageClassName: 'sc-1' })),
  events: said('PersistentVolumeClaim', 'uid-pvc-1', ['ProvisioningFailed', message]),
})
const unscheduled = (message: string): Partial<Facts> => ({
  claims: allOf(claim),
  pods: [web({ metadata: { uid: 'uid-web' }, spec: { nodeName: null }, status: { phase: 'Pending' } })],
  events: said('Pod', 'uid-web', ['FailedScheduling', message]),
})

const STATES: readonly [string, Partial<Facts>, string][] = [
  [
    'pending: no class and no default one',
    { claims: allOf(pending({ storageClassName: null })), storageClasses: allOf(storageClass()) },
    'NoClass: a StorageClass: it names none, no class is the default, and no volume without a class fits',
  ],
  [
    'pending: a class that was deleted',
    { claims: allOf(pending({ storageClassName: 'gone' })) },
    'StorageClassMissing: StorageClass gone, which does not exist',
  ],
  [
    'pending: a volume that belongs to another claim',
    {
      claims: allOf(pending({ volumeName: 'pv-9' })),
      events: said('PersistentVolumeClaim', 'uid-pvc-1', ['FailedBinding', 'bound']),
    },
    'VolumeOfAnother: PersistentVolume pv-9, which belongs to another claim',
  ],
  [
    'pending: a volume that is not there',
    { claims: allOf(pending({ volumeName: 'pv-9' })) },
    'VolumeNotThere: PersistentVolume pv-9, which does not exist',
  ],
  [
    'provisioning: the driver refuses',
    provisioning('rpc error: code = Internal desc = no'),
    'DriverRefuses: driver of the class to do what it has refused with Internal',
  ],
  [
    'provisioning: a webhook denies',
    provisioning('admission webhook "w.io" denied the request: no'),
    'WebhookDenies: admission webhook w.io to allow it: no',
  ],
  [
    'provisioning: quota',
    provisioning('persistentvolumes is forbidden: exceeded quota: storage, requested: 1'),
    'QuotaExceeded: room in ResourceQuota storage',
  ],
  [
    'provisioning: RBAC',
    provisioning('secrets "x" is forbidden: User "sa" cannot get resource "secrets" in API group ""'),
    'Forbidden: a role that lets sa get secrets',
  ],
  [
    'scheduling: the limits of CSINodes',
    unscheduled('0/1 nodes are available: 1 node(s) exceed max volume count.'),
    'NotScheduled: the scheduler to choose a node: the nodes have as many volumes as their CSINodes allow',
  ],
  [
    'scheduling: taints',
    unscheduled('0/1 nodes are available: 1 node(s) had untolerated taint {a: b}.'),
    'NotScheduled: the scheduler to choose a node: the nodes have taints that it does not tolerate',
  ],
  [
    'attaching: the limit of the CSINode',
    {
      attachments: [attaching, va('va-2', { status: { attached: true } })],
      csiNodes: allOf(
        csiNode('node-1', { spec: { drivers: [{ name: 'csi.example.com', nodeID: 'n', allocatable: { count: 1 } }] } }),
      ),
    },
    'NodeFull: room for one more volume of csi.example.com on node node-1',
  ],
  [
    'attaching: the node is gone',
    { attachments: [attaching], csiNodes: allOf(), nodes: allOf() },
    'NodeGone: node node-1, which does not exist',
  ],
  [
    'attaching: migration is off',
    {
      attachments: [attaching],
      volumes: allOf(pv('pv-1', { metadata: { annotations: { 'pv.kubernetes.io/migrated-to': 'csi.example.com' } } })),
    },
    'MigrationOff: the kubelet of node node-1 to have migration on, since the volume is an in-tree one',
  ],
  [
    'attaching: two leaders',
    {
      attachments: [attaching],
      leases: [
        lease(ATTACHER_LEASE),
        { ...lease(ATTACHER_LEASE), metadata: { namespace: 'other', name: ATTACHER_LEASE } },
      ],
    },
    `TwoLeaders: one leader instead of two: Leases storage/${ATTACHER_LEASE} by pod-a and other/${ATTACHER_LEASE} by pod-a are held at once`,
  ],
  [
    'attaching: the holder of the Lease is no pod any more',
    {
      attachments: [attaching],
      leases: [lease(ATTACHER_LEASE, { renewed: 20 })],
      holdersGone: new Set([`storage/${ATTACHER_LEASE}`]),
    },
    `HolderGone: a leader: Lease storage/${ATTACHER_LEASE} is held by pod-a, which is no pod any more, until it expires`,
  ],
  [
    'detaching elsewhere: a pod in Terminating on a node that is not ready',
    {
      claims: allOf(claim),
      pods: [web(), pod('old', { metadata: { deletionTimestamp: ago(200) }, spec: { nodeName: 'node-2' } })],
      attachments: [va('there', { spec: { nodeName: 'node-2' }, status: { attached: true } })],
      nodes: allOf(down),
    },
    'NodeNotReady: old to end on node node-2, whose kubelet does not answer',
  ],
  [
    'expanding: no resizer',
    { leases: [], claims: allOf(bound({ claim: { spec: { resources: { requests: { storage: '2Gi' } } } } }).claim) },
    'NoSidecarSeen: an external-resizer for csi.example.com, of which there is no sign',
  ],
  [
    'expanding: the node part with a pod',
    {
      claims: allOf(
        bound({ claim: { status: { allocatedResourceStatuses: { storage: 'NodeResizePending' } } } }).claim,
      ),
      pods: [pod('web')],
    },
    'NodeResizePending: the kubelet to make it grow, where default/web runs',
  ],
  [
    'deleting: a finalizer of others on a pod',
    { claims: allOf(claim), pods: [web({ metadata: { deletionTimestamp: ago(200), finalizers: ['a.io/b'] } })] },
    'ForeignFinalizer: the owner of finalizer a.io/b to remove it',
  ],
  [
    'deleting: the provisioner has failed',
    {
      volumes: allOf(
        pv('pv-1', { spec: { persistentVolumeReclaimPolicy: 'Delete' }, status: { phase: 'Failed', message: 'no' } }),
      ),
    },
    'DeletionFailed: what the last try has failed for: no',
  ],
  [
    'only the sidecar knows',
    {
      pending: byObject(
        pendingPage({
          items: [
            {
              sidecar: 'external-attacher',
              driver: 'd',
              operation: 'release',
              object: { kind: 'PersistentVolume', name: 'pv-7' },
              reason: 'StillAttached',
              stuck: true,
              waitsFor: ['VolumeAttachment va-9'],
            },
          ],
        })?.items ?? [],
      ),
    },
    'StillAttached: VolumeAttachment va-9',
  ],
]

it.each(STATES)('%s', (_, given, expected) => {
  const facts = factsWith({ ...SOUND, ...given })
  const { findings, unseen } = findingsOf(facts)
  expect(unseen).toEqual([])
  const found = findings.map(({ reason, waitsFor }) => `${reason}: ${waitsFor}`)
  expect(found).toContain(expected)
  const finding = findings[found.indexOf(expected)]
  expect(finding?.stuck).toBe(true)
  expect(finding && headlineOf(finding, finding.object, facts.now)).toMatch(/(?:been waiting|waits) /)
})
