import { PODS, VOLUME_ATTRIBUTES_CLASSES } from '@csi-sidecars/kube-types'
import { pod, vac } from '@csi-sidecars/testkit'
import { it } from '@jest/globals'
import {
  attachment,
  type BlockedState,
  CLASS,
  checkState,
  FORBIDDEN,
  growing,
  growingOnNode,
  modifyingClaim,
  ofClaim,
  SOUND,
  VOLUME,
  WEBHOOK,
} from './testing/states.ts'

/** States in which a volume cannot be expanded or modified. */

const STATES: Readonly<Record<string, BlockedState>> = {
  'expanding: no resizer runs': {
    of: ['pvc', 'pvc-1'],
    objects: [VOLUME, CLASS, growing({ conditions: [] })],
    reason: 'NoSidecarSeen',
    says: 'an external-resizer for csi.example.com, of which there is no sign',
    ageless: true,
  },
  'expanding: a webhook denies the request': {
    of: ['pvc', 'pvc-1'],
    objects: [...SOUND, growing({}), ofClaim('VolumeResizeFailed', WEBHOOK)],
    reason: 'WebhookDenies',
    says: 'admission webhook w.io to allow it: not today',
  },
  'expanding: no role lets the resizer patch the volume': {
    of: ['pvc', 'pvc-1'],
    objects: [
      ...SOUND,
      growing({}),
      ofClaim('VolumeResizeFailed', `persistentvolumes "pv-1" is forbidden: ${FORBIDDEN}`),
    ],
    reason: 'Forbidden',
    says: 'a role that lets system:sa patch persistentvolumes',
  },
  'expanding: the driver cannot expand': {
    of: ['pvc', 'pvc-1'],
    objects: [...SOUND, growing({}), ofClaim('VolumeResizeFailed', 'rpc error: code = Unimplemented desc = no')],
    reason: 'DriverRefuses',
    says: 'driver csi.example.com to do what it has refused with Unimplemented',
  },
  'expanding: a size that the driver never supports': {
    of: ['pvc', 'pvc-1'],
    objects: [
      ...SOUND,
      growing({
        allocatedResources: { storage: '2Gi' },
        allocatedResourceStatuses: { storage: 'ControllerResizeInfeasible' },
      }),
    ],
    reason: 'InfeasibleSize',
    says: 'a request that csi.example.com can fulfil: it will never expand the volume to 2Gi',
  },
  'expanding: a pod uses the claim, and the driver expands offline only': {
    of: ['pvc', 'pvc-1'],
    objects: [
      ...SOUND,
      growing({}),
      [PODS, pod('web')],
      ofClaim('VolumeResizeFailed', 'x only supports offline expansion and volume is currently in-use'),
    ],
    reason: 'ClaimInUse',
    says: 'Pod default/web to end, because the driver expands only volumes that are not in use',
  },
  'expanding: the kubelet must finish, and a pod uses the claim': {
    of: ['pvc', 'pvc-1'],
    objects: [...SOUND, growingOnNode, [PODS, pod('web')], attachment({ status: { attached: true } })],
    reason: 'NodeResizePending',
    says: 'the kubelet to make it grow, where default/web runs',
  },
  'expanding: the kubelet must finish, but no pod uses the claim': {
    of: ['pvc', 'pvc-1'],
    objects: [...SOUND, growingOnNode],
    reason: 'NodeResizePending',
    says: 'a pod that uses the claim, where the kubelet can make it grow',
    idle: true,
  },
  'modifying: a class that was deleted': {
    of: ['pvc', 'pvc-1'],
    objects: [...SOUND, modifyingClaim({ status: 'Pending' })],
    reason: 'VolumeAttributesClassMissing',
    says: 'VolumeAttributesClass gold, which does not exist',
  },
  'modifying: parameters that the driver refuses': {
    of: ['pvc', 'pvc-1'],
    objects: [
      ...SOUND,
      [VOLUME_ATTRIBUTES_CLASSES, vac('gold')],
      modifyingClaim({ status: 'Infeasible', targetVolumeAttributesClassName: 'gold' }),
    ],
    reason: 'ModifyInfeasible',
    says: 'another VolumeAttributesClass: csi.example.com refuses the parameters of gold',
  },
  'modifying: a driver that cannot modify volumes': {
    of: ['pvc', 'pvc-1'],
    objects: [
      ...SOUND,
      [VOLUME_ATTRIBUTES_CLASSES, vac('gold')],
      modifyingClaim(undefined),
      ofClaim(
        'VolumeModifyFailed',
        'VAC "gold" cannot be applied: CSI driver csi.example.com does not support ControllerModifyVolume.',
      ),
    ],
    reason: 'ModifyNotSupported',
    says: 'a claim without VolumeAttributesClass: driver csi.example.com cannot modify volumes',
  },
  'modifying: no role lets the resizer patch the volume': {
    of: ['pvc', 'pvc-1'],
    objects: [
      ...SOUND,
      [VOLUME_ATTRIBUTES_CLASSES, vac('gold')],
      modifyingClaim({ status: 'InProgress', targetVolumeAttributesClassName: 'gold' }),
      ofClaim('VolumeModifyFailed', `persistentvolumes "pv-1" is forbidden: ${FORBIDDEN}`),
    ],
    reason: 'Forbidden',
    says: 'a role that lets system:sa patch persistentvolumes',
  },
  'modifying: a driver that cannot modify, so no work has begun': {
    of: ['pvc', 'pvc-1'],
    objects: [...SOUND, [VOLUME_ATTRIBUTES_CLASSES, vac('gold')], modifyingClaim(undefined)],
    reason: 'NotBegun',
    says: 'its turn to be modified to gold',
  },
}

it.each(Object.entries(STATES))('`kubectl csi explain` explains this state: %s', checkState)
