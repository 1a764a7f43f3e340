import { CSI_NODES, LEASES, NODES, PERSISTENT_VOLUMES, PODS, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { csiNode, pod, pv, va } from '@csi-sidecars/testkit'
import { it } from '@jest/globals'
import { ATTACHER_LEASE, lease } from './testing/facts.ts'
import {
  attachedThere,
  attachment,
  type BlockedState,
  CLAIM,
  CLASS,
  CSI_NODE,
  checkState,
  endingThere,
  FORBIDDEN,
  failing,
  LED,
  NODE,
  node,
  ofPod,
  reporting,
  SOUND,
  there,
  VOLUME,
  WEBHOOK,
  web,
} from './testing/states.ts'

/** States in which a volume cannot be attached or mounted. */

const STATES: Readonly<Record<string, BlockedState>> = {
  'attaching: a CSINode without drivers': {
    of: ['va', 'va-1'],
    objects: [VOLUME, NODE, ...LED, attachment(), [CSI_NODES, csiNode('node-1', { spec: { drivers: [] } })]],
    reason: 'NodeWithoutDriver',
    says: 'driver csi.example.com to register on node node-1',
  },
  'attaching: the node has as many volumes as its CSINode allows': {
    of: ['va', 'va-1'],
    objects: [
      VOLUME,
      NODE,
      ...LED,
      attachment(),
      [VOLUME_ATTACHMENTS, va('va-2', { status: { attached: true } })],
      [
        CSI_NODES,
        csiNode('node-1', { spec: { drivers: [{ name: 'csi.example.com', nodeID: 'n', allocatable: { count: 1 } }] } }),
      ],
    ],
    reason: 'NodeFull',
    says: 'room for one more volume of csi.example.com on node node-1',
  },
  'attaching: the node does not exist': {
    of: ['va', 'va-1'],
    objects: [VOLUME, ...LED, attachment()],
    reason: 'NodeGone',
    says: 'node node-1, which does not exist',
  },
  'attaching: migration is off': {
    of: ['va', 'va-1'],
    objects: [
      CSI_NODE,
      NODE,
      ...LED,
      attachment(),
      [
        PERSISTENT_VOLUMES,
        pv('pv-1', { metadata: { annotations: { 'pv.kubernetes.io/migrated-to': 'csi.example.com' } } }),
      ],
    ],
    reason: 'MigrationOff',
    says: 'the kubelet of node node-1 to have migration on, since the volume is an in-tree one',
  },
  'attaching: two attachers lead at once': {
    of: ['va', 'va-1'],
    objects: [
      ...SOUND,
      attachment(),
      [LEASES, { ...lease(ATTACHER_LEASE), metadata: { namespace: 'other', name: ATTACHER_LEASE } }],
      [PODS, pod('pod-a', { metadata: { namespace: 'other' }, spec: { volumes: null } })],
    ],
    reason: 'TwoLeaders',
    says: `one leader instead of two: Leases other/${ATTACHER_LEASE} by pod-a and storage/${ATTACHER_LEASE} by pod-a are held at once`,
  },
  'attaching: the holder of the Lease has no pod': {
    of: ['va', 'va-1'],
    objects: [VOLUME, CSI_NODE, NODE, attachment(), [LEASES, lease(ATTACHER_LEASE, { renewed: 20 })]],
    reason: 'HolderGone',
    says: `a leader: Lease storage/${ATTACHER_LEASE} is held by pod-a, whose pod no longer exists, until it expires`,
  },
  'attaching: no attacher runs': {
    of: ['va', 'va-1'],
    objects: [VOLUME, CSI_NODE, NODE, attachment()],
    reason: 'NoSidecarSeen',
    says: 'an external-attacher for csi.example.com, of which there is no sign',
  },
  'attaching: a webhook denies the write of the attacher': {
    of: ['pod', 'web'],
    objects: [...SOUND, CLAIM, web(), failing(`could not add PersistentVolume finalizer: ${WEBHOOK}`)],
    reason: 'WebhookDenies',
    says: 'admission webhook w.io to allow it: not today (VolumeAttachment va-1)',
  },
  'attaching: no role lets the attacher patch the volume': {
    of: ['pvc', 'pvc-1'],
    objects: [...SOUND, CLAIM, failing(`persistentvolumes "pv-1" is forbidden: ${FORBIDDEN}`)],
    reason: 'Forbidden',
    says: 'a role that lets system:sa patch persistentvolumes (VolumeAttachment va-1)',
  },
  'attaching: nothing has requested the attachment': {
    of: ['pod', 'web'],
    objects: [...SOUND, CLAIM, web()],
    reason: 'NotAskedFor',
    says: 'the attach/detach controller to ask for volume pv-1 on node node-1',
  },
  'attaching: a pod on another node uses the volume': {
    of: ['pod', 'web'],
    objects: [...SOUND, CLAIM, web(), there(), attachedThere, [NODES, node('node-2', 'True')]],
    reason: 'MultiAttach',
    says: 'volume pv-1 to be detached from node node-2, where old uses it: it can be attached to one node only',
  },
  'attaching: a pod in Terminating on another node': {
    of: ['pod', 'web'],
    objects: [...SOUND, CLAIM, web(), endingThere, attachedThere, [NODES, node('node-2', 'True')]],
    reason: 'PodEnding',
    says: 'the kubelet of node node-2 to end it and to unmount its volumes (Pod default/old)',
  },
  'attaching: a pod in Terminating on a node that is not ready': {
    of: ['pod', 'web'],
    objects: [...SOUND, CLAIM, web(), endingThere, attachedThere, [NODES, node('node-2', 'Unknown')]],
    reason: 'NodeNotReady',
    says: 'old to end on node node-2, whose kubelet does not answer',
  },
  'attaching: a pod on another node that no longer exists': {
    of: ['pod', 'web'],
    objects: [...SOUND, CLAIM, web(), endingThere, attachedThere],
    reason: 'NodeGone',
    says: 'old to be deleted by force: its node node-2 does not exist',
  },
  'mounting: the kubelet fails to mount the volume': {
    of: ['pod', 'web'],
    objects: [
      ...[VOLUME, CSI_NODE, CLASS, ...LED, CLAIM, web()],
      reporting('True'),
      attachment({ status: { attached: true } }),
      ofPod('FailedMount', 'wrong fs type'),
    ],
    reason: 'MountPending',
    says: 'what it has failed for on node node-1: wrong fs type',
  },
  'mounting: the node is not ready': {
    of: ['pod', 'web'],
    objects: [
      ...[VOLUME, CSI_NODE, CLASS, ...LED, CLAIM, web()],
      reporting('Unknown'),
      attachment({ status: { attached: true } }),
    ],
    reason: 'NodeNotReady',
    says: 'node node-1 to be ready: its kubelet does not answer',
  },
  'mounting: the node does not report the attachment': {
    of: ['pod', 'web'],
    objects: [...SOUND, CLAIM, web(), attachment({ status: { attached: true } })],
    reason: 'NotReported',
    says: 'the attach/detach controller to report volume pv-1 as attached in the status of node node-1',
  },
}

it.each(Object.entries(STATES))('`kubectl csi explain` explains this state: %s', checkState)
