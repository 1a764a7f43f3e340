import { NODES, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS, STORAGE_CLASSES } from '@csi-sidecars/kube-types'
import { bound, pod, storageClass } from '@csi-sidecars/testkit'
import { expect, it } from '@jest/globals'
import { ask, clientOf, explain, serving } from './testing/ask.ts'
import { ago } from './testing/facts.ts'
import {
  type BlockedState,
  CLAIM,
  CLASS,
  checkState,
  DELETED,
  detaching,
  endingThere,
  node,
  ofClaim,
  ofPod,
  SOUND,
  unbound,
  web,
} from './testing/states.ts'

/** States with a chain of waits: an object waits for a second object, which waits for a third. */

const WAITS_FOR_POD = [STORAGE_CLASSES, storageClass('sc-1', { volumeBindingMode: 'WaitForFirstConsumer' })] as const
const HOMELESS = web({ spec: { nodeName: null } })
const IN_USE = { metadata: { ...DELETED, finalizers: ['kubernetes.io/pvc-protection'] } }
const ENDING = web({ metadata: { deletionTimestamp: ago(300) }, status: { phase: 'Running' } })

const STATES: Readonly<Record<string, BlockedState>> = {
  'pending: a pod whose claim has no class': {
    of: ['pod', 'web'],
    objects: [CLASS, unbound({ storageClassName: null }), HOMELESS],
    reason: 'NoClass',
    says: 'a StorageClass: it names none, no class is the default, and no volume without a class fits (PersistentVolumeClaim default/pvc-1)',
  },
  'pending: a pod whose class was deleted': {
    of: ['pod', 'web'],
    objects: [unbound({ storageClassName: 'gone' }), HOMELESS],
    reason: 'StorageClassMissing',
    says: 'StorageClass gone, which does not exist (PersistentVolumeClaim default/pvc-1)',
  },
  'provisioning: a pod whose volume the driver refuses': {
    of: ['pod', 'web'],
    objects: [
      CLASS,
      unbound({ storageClassName: 'sc-1' }),
      ofClaim('ProvisioningFailed', 'rpc error: code = Internal desc = no'),
      HOMELESS,
    ],
    reason: 'DriverRefuses',
    says: 'driver csi.example.com to do what it has refused with Internal (PersistentVolumeClaim default/pvc-1)',
  },
  'scheduling: a claim that waits for a pod that fits on no node': {
    of: ['pvc', 'pvc-1'],
    objects: [
      WAITS_FOR_POD,
      unbound({ storageClassName: 'sc-1' }),
      HOMELESS,
      ofPod('FailedScheduling', '0/1 nodes are available: 1 node(s) had untolerated taint {a: b}.'),
    ],
    reason: 'NotScheduled',
    says: 'the scheduler to choose a node: the nodes have taints that it does not tolerate (Pod default/web)',
  },
  'detaching: a pod whose volume the driver does not detach from another node': {
    of: ['pod', 'web'],
    objects: [
      ...SOUND,
      CLAIM,
      web(),
      detaching({
        spec: { nodeName: 'node-2' },
        status: { attached: true, detachError: { message: 'rpc error: code = Internal' } },
      }),
      [NODES, node('node-2', 'True')],
    ],
    reason: 'DriverRefuses',
    says: 'driver csi.example.com to do what it has refused with Internal (VolumeAttachment va-1)',
  },
  'detaching: a claim in deletion whose pod stays in Terminating': {
    of: ['pvc', 'pvc-1'],
    objects: [...SOUND, [PERSISTENT_VOLUME_CLAIMS, bound({ claim: IN_USE }).claim], ENDING],
    reason: 'PodEnding',
    says: 'the kubelet of node node-1 to end it and to unmount its volumes (Pod default/web)',
  },
  'detaching: a volume in deletion whose claim waits for a pod in Terminating': {
    of: ['pv', 'pv-1'],
    objects: [
      ...SOUND.slice(1),
      [PERSISTENT_VOLUME_CLAIMS, bound({ claim: IN_USE }).claim],
      [
        PERSISTENT_VOLUMES,
        bound({ volume: { metadata: { ...DELETED, finalizers: ['kubernetes.io/pv-protection'] } } }).volume,
      ],
      ENDING,
    ],
    reason: 'PodEnding',
    says: 'the kubelet of node node-1 to end it and to unmount its volumes (Pod default/web)',
  },
}

it.each(Object.entries(STATES))('`kubectl csi explain` explains this state: %s', checkState)

it('`kubectl csi explain` explains a young pod by its claim, with any value of --older-than', async () => {
  const young = { creationTimestamp: ago(20) }
  const client = clientOf(
    serving([CLASS, unbound({ storageClassName: null }), web({ metadata: young, spec: { nodeName: null } })]),
  )
  for (const stuckAfterMs of [1_000, 5_000, 120_000]) {
    const { first } = await ask(client, explain('pod', 'web'), { stuckAfterMs })
    expect(first).toContain('for a StorageClass: it names none')
  }
})

it('`kubectl csi explain` of a claim ignores the findings of other pods that use the claim', async () => {
  const { text } = await ask(
    clientOf(serving([...SOUND, CLAIM, endingThere, [PODS, pod('web')]])),
    explain('pvc', 'pvc-1'),
  )
  expect(text).not.toContain('Pod default/old')
})
