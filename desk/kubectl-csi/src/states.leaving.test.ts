import { LEASES, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS } from '@csi-sidecars/kube-types'
import { bound, pod, pv } from '@csi-sidecars/testkit'
import { it } from '@jest/globals'
import { ATTACHER_LEASE, ago, lease } from './testing/facts.ts'
import {
  attachment,
  type BlockedState,
  CLAIM,
  CLASS,
  CSI_NODE,
  checkState,
  DELETED,
  detaching,
  eventAbout,
  LED,
  NODE,
  released,
  SOUND,
  VOLUME,
  WEBHOOK,
  web,
} from './testing/states.ts'

/** States in which a volume cannot be detached or deleted. */

const STATES: Readonly<Record<string, BlockedState>> = {
  'detaching: the driver refuses to detach the volume': {
    of: ['va', 'va-1'],
    objects: [
      ...SOUND,
      detaching({ status: { attached: true, detachError: { message: 'rpc error: code = Internal' } } }),
    ],
    reason: 'DriverRefuses',
    says: 'driver csi.example.com to do what it has refused with Internal',
  },
  'detaching: the PersistentVolume is gone': {
    of: ['va', 'va-1'],
    objects: [CSI_NODE, NODE, ...LED, detaching({ status: { attached: true } })],
    reason: 'VolumeGone',
    says: 'PersistentVolume pv-1, which does not exist, and without which the volume to detach is unknown',
  },
  'detaching: the attachment has a finalizer of another controller': {
    of: ['va', 'va-1'],
    objects: [...SOUND, detaching({ metadata: { finalizers: ['a.io/b'] } })],
    reason: 'ForeignFinalizer',
    says: 'the owner of finalizer a.io/b to remove it',
  },
  'detaching: the holder of the Lease has no pod': {
    of: ['node', 'node-1'],
    objects: [VOLUME, CSI_NODE, NODE, detaching(), [LEASES, lease(ATTACHER_LEASE, { renewed: 20 })]],
    reason: 'HolderGone',
    says: `a leader: Lease storage/${ATTACHER_LEASE} is held by pod-a, whose pod no longer exists, until it expires (VolumeAttachment va-1)`,
  },
  'detaching: a pod stays in Terminating': {
    of: ['pod', 'web'],
    objects: [...SOUND, CLAIM, web({ metadata: { deletionTimestamp: ago(300) }, status: { phase: 'Running' } })],
    reason: 'PodEnding',
    says: 'the kubelet of node node-1 to end it and to unmount its volumes',
  },
  'detaching: a pod stays in Terminating, on a node that no longer exists': {
    of: ['pod', 'web'],
    objects: [
      VOLUME,
      CLASS,
      ...LED,
      CLAIM,
      web({ metadata: { deletionTimestamp: ago(300) }, status: { phase: 'Running' } }),
    ],
    reason: 'NodeGone',
    says: 'node node-1, which does not exist',
  },
  'deleting: a claim that pods use': {
    of: ['pvc', 'pvc-1'],
    objects: [
      ...SOUND,
      [
        PERSISTENT_VOLUME_CLAIMS,
        bound({ claim: { metadata: { ...DELETED, finalizers: ['kubernetes.io/pvc-protection'] } } }).claim,
      ],
      [PODS, pod('web')],
    ],
    reason: 'ClaimInUse',
    says: 'default/web to end',
  },
  'deleting: a claim has a finalizer of another controller': {
    of: ['pvc', 'pvc-1'],
    objects: [
      ...SOUND,
      [PERSISTENT_VOLUME_CLAIMS, bound({ claim: { metadata: { ...DELETED, finalizers: ['a.io/b'] } } }).claim],
    ],
    reason: 'ForeignFinalizer',
    says: 'the owner of finalizer a.io/b to remove it',
  },
  'deleting: a pod has a finalizer of another controller': {
    of: ['pod', 'web'],
    objects: [
      ...SOUND,
      CLAIM,
      web({ metadata: { deletionTimestamp: ago(300), finalizers: ['a.io/b'] }, status: { phase: 'Running' } }),
    ],
    reason: 'ForeignFinalizer',
    says: 'the owner of finalizer a.io/b to remove it',
  },
  'deleting: a volume that is attached': {
    of: ['pv', 'pv-1'],
    objects: [
      CSI_NODE,
      NODE,
      ...LED,
      attachment({ status: { attached: true } }),
      [PERSISTENT_VOLUMES, pv('pv-1', { metadata: { ...DELETED, finalizers: ['external-attacher/csi-example-com'] } })],
    ],
    reason: 'VolumeStillAttached',
    says: 'VolumeAttachment va-1 to be deleted',
  },
  'deleting: a volume that a claim is bound to': {
    of: ['pv', 'pv-1'],
    objects: [
      CSI_NODE,
      NODE,
      ...LED,
      CLAIM,
      [
        PERSISTENT_VOLUMES,
        bound({ volume: { metadata: { ...DELETED, finalizers: ['kubernetes.io/pv-protection'] } } }).volume,
      ],
    ],
    reason: 'VolumeBound',
    says: 'PersistentVolumeClaim default/pvc-1, which is bound to it, to be deleted',
  },
  'deleting: the driver refuses to delete the volume': {
    of: ['pv', 'pv-1'],
    objects: [
      ...LED,
      released({ metadata: { uid: 'uid-pv-1' } }),
      eventAbout('PersistentVolume', 'pv-1', [
        'VolumeFailedDelete',
        'rpc error: code = FailedPrecondition desc = snapshots',
      ]),
    ],
    reason: 'DriverRefuses',
    says: 'driver csi.example.com to do what it has refused with FailedPrecondition',
  },
  'deleting: a webhook denies the request': {
    of: ['pv', 'pv-1'],
    objects: [...LED, released({ metadata: { uid: 'uid-pv-1' }, status: { phase: 'Failed', message: WEBHOOK } })],
    reason: 'WebhookDenies',
    says: 'admission webhook w.io to allow it: not today',
  },
  'deleting: the provisioner has not deleted the volume': {
    of: ['pv', 'pv-1'],
    objects: [...LED, released({ metadata: { finalizers: ['external-provisioner.volume.kubernetes.io/finalizer'] } })],
    reason: 'VolumeDeleting',
    says: 'its provisioner to delete it: its claim is gone',
  },
}

it.each(Object.entries(STATES))('`kubectl csi explain` explains this state: %s', checkState)
