import { PERSISTENT_VOLUME_CLAIMS as CLAIMS, PODS } from '@csi-sidecars/kube-types'
import {
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
const selected = (what: string) =>
  changed(CLAIMS, 'data', (scene) => ({ metadata: { annotations: node(scene.name(what)) } }))
const node = (name: string) => ({ 'volume.kubernetes.io/selected-node': name })

/** Scenarios in which the controllers create volumes for claims, and claims for pods. */
export const provisionScenarios: readonly Scenario[] = [
  scenario('provision: by the driver', [storageClass('class')], [claim('data')]),
  scenario('provision: a block volume', [storageClass('class')], [claim('data', { volumeMode: 'Block' })]),
  scenario('provision: there is no such class, then there is', [claim('data')], [storageClass('class')]),
  scenario('provision: no provisioner for this class', [
    storageClass('class', { provisioner: 'kubernetes.io/no-provisioner' }),
    claim('data'),
  ]),
  scenario('provision: a plugin that Kubernetes does not have', [
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
  scenario('provision: late, for a node that was chosen', [lateClass('class'), claim('data')], [selected('n')]),
  scenario(
    'provision: late binding, and no provisioner',
    [lateClass('class', { provisioner: 'kubernetes.io/no-provisioner' }), claim('data')],
    [selected('n')],
  ),
  scenario('provision: the claim asks by the old annotation', [
    storageClass('class'),
    (scene) =>
      claim('data', {
        class: null,
        metadata: { annotations: { 'volume.beta.kubernetes.io/storage-class': scene.name('class') } },
      })(scene),
  ]),
  scenario('provision: deleted with its claim', [storageClass('class')], [claim('data')], [deleted(CLAIMS, 'data')]),
  scenario(
    'provision: kept after its claim',
    [storageClass('class', { reclaimPolicy: 'Retain' })],
    [claim('data')],
    [deleted(CLAIMS, 'data')],
  ),
  scenario('provision: the claim has found a volume by hand meanwhile', [
    storageClass('class'),
    volume('pv'),
    claim('data'),
  ]),
  scenario(
    'expand: the driver is waited for',
    [storageClass('class')],
    [claim('data')],
    [changed(CLAIMS, 'data', { spec: { resources: { requests: { storage: '2Gi' } } } })],
  ),
  scenario(
    'expand: the class does not allow it',
    [storageClass('class', { allowVolumeExpansion: false })],
    [claim('data')],
    [refused(changed(CLAIMS, 'data', { spec: { resources: { requests: { storage: '2Gi' } } } }))],
  ),
  scenario(
    'expand: the volume has grown already',
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
  scenario('ephemeral: a pod with two', [pod('app', { volumes: [ephemeral('a', NONE), ephemeral('b', NONE)] })]),
]
