import { PERSISTENT_VOLUME_CLAIMS as CLAIMS, PERSISTENT_VOLUMES as VOLUMES } from '@csi-sidecars/kube-types'
import {
  type Action,
  changed,
  claim,
  deleted,
  type Scenario,
  scenario,
  type VolumeOptions,
  volume,
} from '../scenario.ts'

const released = changed(VOLUMES, 'pv', { spec: { claimRef: null } })
const gone = deleted(CLAIMS, 'data')

function used(name: string, options: VolumeOptions, ...steps: readonly (readonly Action[])[]): Scenario {
  return scenario(name, [volume('pv', options), claim('data')], ...steps)
}

/** Scenarios for a volume whose claim is deleted. */
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
  used(
    'delete: by an unknown provisioner',
    {
      policy: 'Delete',
      metadata: { annotations: { 'pv.kubernetes.io/provisioned-by': 'missing.example.com' } },
    },
    [gone],
  ),
  used('recycle: a CSI volume', { policy: 'Recycle' }, [gone]),
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
