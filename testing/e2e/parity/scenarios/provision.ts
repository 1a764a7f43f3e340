import { PERSISTENT_VOLUME_CLAIMS as CLAIMS, PODS, PERSISTENT_VOLUMES as VOLUMES } from '@csi-sidecars/kube-types'
import {
  boundTo,
  changed,
  claim,
  deleted,
  lateClass,
  pod,
  refused,
  type Scenario,
  scenario,
  storageClass,
  volume,
  withBoundClaim,
} from '../scenario.ts'

const PROVISIONER = 'volume.kubernetes.io/storage-provisioner'
const ephemeral = (name: string, spec: object = {}) => ({
  name,
  ephemeral: {
    volumeClaimTemplate: {
      metadata: { labels: { app: 'x' }, annotations: { 'example.com/note': 'y' } },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
    },
  },
})
/** A class that does not exist, so that no volume is created. */
const NONE = { storageClassName: 'none' }
const selected = (suffix: string) =>
  changed(CLAIMS, 'data', (scene) => ({ metadata: { annotations: node(scene.name(suffix)) } }))
const node = (name: string) => ({ 'volume.kubernetes.io/selected-node': name })

/** Scenarios in which the controllers create volumes for claims, and claims for pods. */
export const provisionScenarios: readonly Scenario[] = [
  scenario('provision: the driver creates it', [storageClass('class')], [claim('data')]),
  scenario('provision: a block volume', [storageClass('class')], [claim('data', { volumeMode: 'Block' })]),
  scenario('provision: the class is created after the claim', [claim('data')], [storageClass('class')]),
  scenario('provision: no provisioner for this class', [
    storageClass('class', { provisioner: 'kubernetes.io/no-provisioner' }),
    claim('data'),
  ]),
  scenario('provision: Kubernetes lacks the plugin of the class', [
    storageClass('class', { provisioner: 'kubernetes.io/flocker' }),
    claim('data'),
  ]),
  scenario(
    'provision: no provisioner answers, then an administrator creates a volume',
    [storageClass('class', { provisioner: 'missing.example.com' }), claim('data')],
    [volume('pv')],
  ),
  scenario(
    'provision: the annotations are removed from the claim',
    [storageClass('class', { provisioner: 'missing.example.com' }), claim('data')],
    [changed(CLAIMS, 'data', { metadata: { annotations: { [PROVISIONER]: null } } })],
  ),
  scenario(
    'provision: the claim is deleted before it has a volume',
    [storageClass('class', { provisioner: 'missing.example.com' }), claim('data')],
    [deleted(CLAIMS, 'data')],
  ),
  scenario('provision: late binding to a selected node', [lateClass('class'), claim('data')], [selected('n')]),
  scenario(
    'provision: late binding, and no provisioner',
    [lateClass('class', { provisioner: 'kubernetes.io/no-provisioner' }), claim('data')],
    [selected('n')],
  ),
  scenario('provision: the beta annotation names the class', [
    storageClass('class'),
    (scene) =>
      claim('data', {
        class: null,
        metadata: { annotations: { 'volume.beta.kubernetes.io/storage-class': scene.name('class') } },
      })(scene),
  ]),
  scenario('provision: its claim is deleted', [storageClass('class')], [claim('data')], [deleted(CLAIMS, 'data')]),
  scenario(
    'provision: the policy Retain keeps the volume of a deleted claim',
    [storageClass('class', { reclaimPolicy: 'Retain' })],
    [claim('data')],
    [deleted(CLAIMS, 'data')],
  ),
  scenario('provision: the claim fits an existing volume', [storageClass('class'), volume('pv'), claim('data')]),
  scenario(
    'expand: the claim waits for the driver',
    [storageClass('class')],
    [claim('data')],
    [changed(CLAIMS, 'data', { spec: { resources: { requests: { storage: '2Gi' } } } })],
  ),
  scenario(
    'expand: the class does not allow expansion',
    [storageClass('class', { allowVolumeExpansion: false })],
    [claim('data')],
    [refused(changed(CLAIMS, 'data', { spec: { resources: { requests: { storage: '2Gi' } } } }))],
  ),
  scenario(
    'expand: the volume is already large enough',
    [storageClass('class'), volume('pv', { size: '4Gi' }), claim('data')],
    [changed(CLAIMS, 'data', { spec: { resources: { requests: { storage: '3Gi' } } } })],
  ),
  scenario(
    "ephemeral: a pod's own claim",
    [pod('app', { volumes: [ephemeral('data', NONE)] })],
    [deleted(PODS, 'app')],
  ),
  scenario('ephemeral: the claim has another owner', [
    claim('app-data', { class: '' }),
    pod('app', { volumes: [ephemeral('data', NONE)] }),
  ]),
  scenario(
    "ephemeral: the pod's claim is deleted",
    [pod('app', { volumes: [ephemeral('data', NONE)] })],
    [deleted(CLAIMS, 'app-data')],
  ),
  scenario('ephemeral: a pod with two claims', [pod('app', { volumes: [ephemeral('a', NONE), ephemeral('b', NONE)] })]),
]

const released = changed(VOLUMES, 'pv', { spec: { claimRef: null } })
const gone = deleted(CLAIMS, 'data')

/** Scenarios for a volume whose claim is deleted. */
export const reclaimScenarios: readonly Scenario[] = [
  withBoundClaim('retain: the claim is deleted', [gone]),
  withBoundClaim('retain: the claim is recreated', [gone], [claim('data')]),
  withBoundClaim('retain: an administrator clears claimRef', [gone], [released], [claim('other')]),
  withBoundClaim(
    'retain: an administrator clears the uid only',
    [gone],
    [changed(VOLUMES, 'pv', { spec: { claimRef: { uid: null } } })],
  ),
  withBoundClaim(
    'retain: the policy changes to Delete after the release',
    [gone],
    [changed(VOLUMES, 'pv', { spec: { persistentVolumeReclaimPolicy: 'Delete' } })],
  ),
  withBoundClaim('retain: deleted by an administrator', [gone], [deleted(VOLUMES, 'pv')]),
  boundTo({ policy: 'Delete' }, 'delete: a CSI volume that was not provisioned', [gone]),
  boundTo(
    {
      policy: 'Delete',
      metadata: { annotations: { 'pv.kubernetes.io/provisioned-by': 'missing.example.com' } },
    },
    'delete: the provisioner is missing',
    [gone],
  ),
  boundTo({ policy: 'Recycle' }, 'recycle: a CSI volume', [gone]),
  scenario(
    'elsewhere: a volume that the controller chose becomes free',
    [volume('pv'), volume('other'), claim('data', { volume: 'other' })],
    [
      changed(VOLUMES, 'pv', (scene) => ({
        metadata: { annotations: { 'pv.kubernetes.io/bound-by-controller': 'yes' } },
        spec: { claimRef: { namespace: scene.id, name: 'data', uid: 'unknown' } },
      })),
    ],
  ),
]
