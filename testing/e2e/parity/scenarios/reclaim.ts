import { PERSISTENT_VOLUME_CLAIMS as CLAIMS, PODS, PERSISTENT_VOLUMES as VOLUMES } from '@csi-sidecars/kube-types'
import {
  type Action,
  changed,
  claim,
  deleted,
  phase,
  pod,
  type Scenario,
  scenario,
  type VolumeOptions,
  volume,
} from '../scenario.ts'

const released = changed(VOLUMES, 'pv', { spec: { claimRef: null } })
const gone = deleted(CLAIMS, 'data')
const hostPath = (path: string): VolumeOptions => ({ csi: null, hostPath: { path } })
const NFS: VolumeOptions = { csi: null, nfs: { server: 'nfs.example.com', path: '/data' } }

/** The status of the pod that scrubs the volume. */
function scrubber(status: object): Action {
  return (scene) => {
    const ref = { namespace: 'default', name: `recycler-for-${scene.name('pv')}`, subresource: 'status' }
    return scene.api.merge(PODS, ref, { status })
  }
}

function used(name: string, options: VolumeOptions, ...steps: readonly (readonly Action[])[]): Scenario {
  return scenario(name, [volume('pv', options), claim('data')], ...steps)
}

/**
 * kube-controller-manager has one scrubber for all volumes of a plugin, and mistakes one for the other when two are at
 * work at once. So each round has one of each.
 */
function inRound(round: number, one: Scenario): Scenario {
  return { ...one, round }
}

/** The scenarios for a volume whose claim is deleted. */
export const reclaimScenarios: readonly Scenario[] = [
  used('retain: released', {}, [gone]),
  used('retain: the claim is recreated', {}, [gone], [claim('data')]),
  used('retain: an administrator frees it', {}, [gone], [released], [claim('other')]),
  used(
    'retain: an administrator clears the uid only',
    {},
    [gone],
    [changed(VOLUMES, 'pv', { spec: { claimRef: { uid: null } } })],
  ),
  used(
    'retain: then to be deleted',
    {},
    [gone],
    [changed(VOLUMES, 'pv', { spec: { persistentVolumeReclaimPolicy: 'Delete' } })],
  ),
  used('retain: deleted by an administrator', {}, [gone], [deleted(VOLUMES, 'pv')]),
  used('delete: a CSI volume that was not provisioned', { policy: 'Delete' }, [gone]),
  used('delete: a plugin that cannot delete', { policy: 'Delete', ...NFS }, [gone]),
  used(
    'delete: a migrated plugin',
    {
      policy: 'Delete',
      csi: null,
      awsElasticBlockStore: { volumeID: 'vol-1' },
    },
    [gone],
  ),
  used('delete: a host path', { policy: 'Delete', ...hostPath('/tmp/parity-none/pv') }, [gone]),
  used('delete: a host path that is not temporary', { policy: 'Delete', ...hostPath('/var/parity-none') }, [gone]),
  used(
    'delete: by an unknown provisioner',
    {
      policy: 'Delete',
      metadata: { annotations: { 'pv.kubernetes.io/provisioned-by': 'missing.example.com' } },
    },
    [gone],
  ),
  used('delete: a failed one is freed by an administrator', { policy: 'Delete', ...NFS }, [gone], [released]),
  used('recycle: a CSI volume', { policy: 'Recycle' }, [gone]),
  used(
    'recycle: the scrubber succeeds',
    { policy: 'Recycle', ...hostPath('/tmp/parity-none') },
    [gone],
    [scrubber({ phase: 'Succeeded' })],
  ),
  used(
    'recycle: the scrubber fails',
    { policy: 'Recycle', ...NFS },
    [gone],
    [scrubber({ phase: 'Failed', message: 'no such folder' })],
  ),
  inRound(
    2,
    used(
      'recycle: the scrubber fails and says nothing',
      { policy: 'Recycle', ...NFS },
      [gone],
      [scrubber({ phase: 'Failed' })],
    ),
  ),
  inRound(
    2,
    used(
      'recycle: the scrubber is deleted',
      { policy: 'Recycle', ...hostPath('/tmp/parity-none') },
      [gone],
      [(scene) => scene.api.delete(PODS, { namespace: 'default', name: `recycler-for-${scene.name('pv')}` })],
    ),
  ),
  inRound(
    3,
    scenario(
      'recycle: a pod still uses the claim of that name',
      [volume('pv', { policy: 'Recycle', ...NFS }), claim('data')],
      [pod('app', { claims: ['data'] })],
      [gone],
      [phase('app', 'Succeeded')],
      [scrubber({ phase: 'Succeeded' })],
    ),
  ),
  scenario(
    'elsewhere: a volume of the controller’s choice becomes free',
    [volume('pv'), volume('other'), claim('data', { volume: 'other' })],
    [
      changed(VOLUMES, 'pv', (scene) => ({
        metadata: { annotations: { 'pv.kubernetes.io/bound-by-controller': 'yes' } },
        spec: { claimRef: { namespace: scene.id, name: 'data', uid: 'unknown' } },
      })),
    ],
  ),
]
