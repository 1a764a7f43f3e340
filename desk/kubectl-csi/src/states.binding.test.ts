import { PERSISTENT_VOLUMES, STORAGE_CLASSES } from '@csi-sidecars/kube-types'
import { pv, storageClass } from '@csi-sidecars/testkit'
import { it } from '@jest/globals'
import {
  type BlockedState,
  CLASS,
  checkState,
  ofClaim,
  provisioning,
  unbound,
  unscheduled,
  VOLUME,
  WEBHOOK,
  web,
} from './testing/states.ts'

/** States in which a claim is not bound, its volume is not provisioned, or its pod is not scheduled. */

const STATES: Readonly<Record<string, BlockedState>> = {
  'pending: the claim has no class, and no default class exists': {
    of: ['pvc', 'pvc-1'],
    objects: [CLASS, unbound({ storageClassName: null })],
    reason: 'NoClass',
    says: 'a StorageClass: it names none, no class is the default, and no volume without a class fits',
  },
  'pending: the class of the claim was deleted': {
    of: ['pvc', 'pvc-1'],
    objects: [CLASS, unbound({ storageClassName: 'gone' })],
    reason: 'StorageClassMissing',
    says: 'StorageClass gone, which does not exist',
  },
  'pending: the claim names a volume that belongs to another claim': {
    of: ['pvc', 'pvc-1'],
    objects: [
      unbound({ volumeName: 'pv-1' }),
      [PERSISTENT_VOLUMES, pv('pv-1', { spec: { claimRef: { namespace: 'default', name: 'other' } } })],
      ofClaim('FailedBinding', 'volume "pv-1" already bound to a different claim.'),
    ],
    reason: 'VolumeOfAnother',
    says: 'PersistentVolume pv-1, which belongs to another claim',
  },
  'pending: the claim names a volume that does not exist': {
    of: ['pvc', 'pvc-1'],
    objects: [unbound({ volumeName: 'pv-9' })],
    reason: 'VolumeNotThere',
    says: 'PersistentVolume pv-9, which does not exist',
  },
  'pending: the claim names a volume that is too small': {
    of: ['pvc', 'pvc-1'],
    objects: [VOLUME, unbound({ volumeName: 'pv-1' }), ofClaim('VolumeMismatch', 'requested PV is too small')],
    reason: 'VolumeMismatch',
    says: 'PersistentVolume pv-1, which does not fit: requested PV is too small',
  },
  'pending: a class that waits for the first pod': {
    of: ['pvc', 'pvc-1'],
    objects: [
      [STORAGE_CLASSES, storageClass('sc-1', { volumeBindingMode: 'WaitForFirstConsumer' })],
      unbound({ storageClassName: 'sc-1' }),
    ],
    reason: 'NoConsumer',
    says: 'a pod that uses it, as its StorageClass asks',
    idle: true,
  },
  'pending: a pod that fits on no node, and a class that waits for it': {
    of: ['pvc', 'pvc-1'],
    objects: [
      [STORAGE_CLASSES, storageClass('sc-1', { volumeBindingMode: 'WaitForFirstConsumer' })],
      unbound({ storageClassName: 'sc-1' }),
      web({ spec: { nodeName: null } }),
    ],
    reason: 'NotScheduled',
    says: 'the scheduler to choose a node (Pod default/web)',
  },
  'provisioning: no provisioner answers': {
    of: ['pvc', 'pvc-1'],
    objects: [
      CLASS,
      unbound({ storageClassName: 'sc-1' }),
      ofClaim('ExternalProvisioning', "Waiting for a volume to be created by the external provisioner 'x'."),
    ],
    reason: 'Provisioning',
    says: 'provisioner csi.example.com to create a volume',
  },
  'provisioning: the driver refuses to create the volume': {
    ...provisioning('failed to provision volume with StorageClass "sc-1": rpc error: code = Internal desc = no'),
    reason: 'DriverRefuses',
    says: 'driver csi.example.com to do what it has refused with Internal',
  },
  'provisioning: the driver takes too long': {
    ...provisioning('rpc error: code = DeadlineExceeded desc = context deadline exceeded'),
    reason: 'DriverTooSlow',
    says: 'driver csi.example.com to answer, which takes longer than the time-out',
  },
  'provisioning: a webhook denies the request': {
    ...provisioning(WEBHOOK),
    reason: 'WebhookDenies',
    says: 'admission webhook w.io to allow it: not today',
  },
  'provisioning: a ResourceQuota is exceeded': {
    ...provisioning('persistentvolumes "pvc-x" is forbidden: exceeded quota: storage, requested: 1, used: 9'),
    reason: 'QuotaExceeded',
    says: 'room in ResourceQuota storage',
  },
  'provisioning: no role lets the provisioner read a Secret': {
    ...provisioning('secrets "x" is forbidden: User "sa" cannot get resource "secrets" in API group "" in namespace'),
    reason: 'Forbidden',
    says: 'a role that lets sa get secrets',
  },
  'scheduling: the nodes have as many volumes as their CSINodes allow': {
    ...unscheduled('0/1 nodes are available: 1 node(s) exceed max volume count.'),
    says: 'the scheduler to choose a node: the nodes have as many volumes as their CSINodes allow',
  },
  'scheduling: the nodes have taints that the pod does not tolerate': {
    ...unscheduled('0/1 nodes are available: 1 node(s) had untolerated taint {a: b}.'),
    says: 'the scheduler to choose a node: the nodes have taints that it does not tolerate',
  },
  'scheduling: the volume is in another zone than the nodes': {
    ...unscheduled('0/1 nodes are available: 1 node(s) had volume node affinity conflict.'),
    says: 'the scheduler to choose a node: its volume is reachable from none that is left',
  },
  'scheduling: the pod uses a claim that does not exist': {
    of: ['pod', 'web'],
    objects: [web({ spec: { nodeName: null } })],
    reason: 'ClaimMissing',
    says: 'PersistentVolumeClaim default/pvc-1, which does not exist',
  },
}

it.each(Object.entries(STATES))('`kubectl csi explain` explains this state: %s', checkState)
