import { deepStrictEqual as equal } from 'node:assert'
import { PERSISTENT_VOLUMES, type PersistentVolumeSpec, type StorageClass } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { deleted, together } from '../../rows/actions.ts'
import { claimed, phaseSet, provisionerRows, volumeAnswer, volumeOfClaimReleased } from '../../rows/provisioner/rows.ts'
import {
  type ClaimParts,
  LATE,
  OWNER,
  PROVISIONED_BY,
  provision,
  SELECTED_NODE,
  scene,
} from '../../rows/provisioner/scene.ts'
import type { Action } from '../../rows/row.ts'

/** Rows about drivers that replace in-tree plugins, and about the dangerous changes of docs/migration.md. */

const row = provisionerRows('migration', import.meta.filename)
const ONCE = ['--retry-interval-start=1h', '--retry-interval-max=1h']
const TOPOLOGY_OFF = '--feature-gates=Topology=false'
const MIGRATED_TO = 'pv.kubernetes.io/migrated-to'
const ZONE = 'topology.kubernetes.io/zone'

interface Plugin {
  readonly driver: string
  readonly class: Partial<StorageClass>
  /** The volume in the driver's answer to CreateVolume. */
  readonly volume: object
  /** A volume as the in-tree plugin has created it, before any csi-provisioner saw it. */
  readonly inTree: Omit<Partial<PersistentVolumeSpec>, 'csi'>
  readonly labels?: Readonly<Record<string, string>>
}

const inZone = (key: string, zone: string) => ({ accessibleTopology: [{ segments: { [key]: zone } }] })
const allowed = (key: string, value: string) => [{ matchLabelExpressions: [{ key, values: [value] }] }]
const DISK = '/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/disks/d'

const GCE: Plugin = {
  driver: 'pd.csi.storage.gke.io',
  class: { allowedTopologies: allowed('failure-domain.beta.kubernetes.io/zone', 'us-east1-b') },
  volume: { volumeId: 'projects/p/zones/us-east1-b/disks/disk-1', ...inZone('topology.gke.io/zone', 'us-east1-b') },
  inTree: { gcePersistentDisk: { pdName: 'disk-1', fsType: 'ext4' } },
  labels: { [ZONE]: 'us-east1-b' },
}
const VSPHERE: Plugin = {
  driver: 'csi.vsphere.vmware.com',
  class: { parameters: { diskformat: 'thin', storagePolicyName: 'gold', other: 'x', fstype: 'ext4' } },
  volume: { volumeId: 'id', volumeContext: { initialvolumefilepath: '[ds] v.vmdk' } },
  inTree: { vsphereVolume: { volumePath: '[ds] kubevols/v.vmdk', fsType: 'ext4' } },
}

const PLUGINS: Readonly<Record<string, Plugin>> = {
  'aws-ebs': {
    driver: 'ebs.csi.aws.com',
    class: { parameters: { fsType: 'xfs', zones: 'eu-west-1b,eu-west-1a', iopsPerGB: '10' } },
    volume: { volumeId: 'vol-1', ...inZone('topology.ebs.csi.aws.com/zone', 'eu-west-1a') },
    inTree: { awsElasticBlockStore: { volumeID: 'aws://eu-west-1a/vol-1', fsType: 'ext4' } },
    labels: { [ZONE]: 'eu-west-1a' },
  },
  'gce-pd': GCE,
  cinder: {
    driver: 'cinder.csi.openstack.org',
    class: { parameters: { fstype: 'ext3', availability: 'nova' }, allowedTopologies: allowed(ZONE, 'nova') },
    volume: { volumeId: 'c1', ...inZone('topology.cinder.csi.openstack.org/zone', 'nova') },
    inTree: { cinder: { volumeID: 'c1' } },
  },
  'azure-disk': {
    driver: 'disk.csi.azure.com',
    class: { parameters: { fsType: 'xfs', cachingMode: 'None' } },
    volume: { volumeId: DISK, volumeContext: { cachingMode: 'ReadOnly', fsType: 'xfs' } },
    inTree: { azureDisk: { diskName: 'd', diskURI: DISK, kind: 'Managed' } },
  },
  'azure-file': {
    driver: 'file.csi.azure.com',
    class: { parameters: { skuName: 'Standard_LRS' } },
    volume: { volumeId: 'rg#account#share#' },
    inTree: {
      azureFile: { secretName: 'azure-storage-account-account-secret', shareName: 's', secretNamespace: 'ns' },
    },
  },
  'vsphere-volume': VSPHERE,
  'portworx-volume': {
    driver: 'pxd.portworx.com',
    class: { parameters: { repl: '2' } },
    volume: { volumeId: 'px' },
    inTree: { portworxVolume: { volumeID: 'px' } },
  },
}

/** The setup of a driver that replaces the in-tree plugin. `class` has more fields of the in-tree class. */
function migrated(name: string, plugin: Plugin, change: { class?: Partial<StorageClass>; volume?: object } = {}) {
  const { driver, volume } = plugin
  return {
    driver: { name: driver, topology: 'accessibleTopology' in volume },
    class: { provisioner: `kubernetes.io/${name}`, ...plugin.class, ...change.class },
    answers: { CreateVolume: [volumeAnswer({ ...volume, ...change.volume })] },
  }
}

/** Creates a claim with the in-tree class. The index in its name determines the order of topologies. */
function claimedInTree(name: string, { driver }: Plugin): Action<unknown> {
  return claimed({ annotations: { [OWNER]: `kubernetes.io/${name}`, [MIGRATED_TO]: driver } }, '-0')
}

/** Creates a volume of the in-tree plugin, which has no finalizer of the provisioner. */
function inTreeCreated(name: string, { driver, inTree, labels = {} }: Plugin): Action<unknown> {
  const annotations = { [PROVISIONED_BY]: `kubernetes.io/${name}`, [MIGRATED_TO]: driver }
  const create = (t: TestContext): Promise<string> =>
    t.createVolume('in-tree', {
      metadata: { annotations, labels },
      csi: null,
      persistentVolumeReclaimPolicy: 'Delete',
      ...inTree,
    })
  return { name: 'create the in-tree PersistentVolume in-tree', run: create }
}

const inTreeReleased = (name: string, plugin: Plugin) =>
  together('release an in-tree volume', inTreeCreated(name, plugin), phaseSet('Released', 'in-tree'))

for (const [name, plugin] of Object.entries(PLUGINS)) {
  const { driver, volume } = plugin
  row(`in-tree classes and volumes of ${name} are translated for the driver and back`, {
    setup: migrated(name, plugin),
    steps: [
      claimedInTree(name, plugin),
      volumeOfClaimReleased('-0'),
      claimed(
        {
          annotations: { [OWNER]: driver },
          class: {
            provisioner: driver,
            parameters: { zone: 'z', fstype: 'ext4' },
            ...('accessibleTopology' in volume && { allowedTopologies: allowed('k', 'v') }),
          },
        },
        '-of-the-driver',
      ),
      inTreeReleased(name, plugin),
    ],
  })
}
row('with Topology=false, a released volume of an in-tree plugin is deleted, too', {
  alone: 'cluster',
  setup: { ...migrated('gce-pd', GCE), args: [TOPOLOGY_OFF] },
  steps: [inTreeReleased('gce-pd', GCE)],
})
row('a volume of an in-tree plugin that is deleted before its claim is deleted in the back end, too', {
  alone: 'cluster',
  setup: migrated('vsphere-volume', VSPHERE),
  steps: [
    inTreeCreated('vsphere-volume', VSPHERE),
    phaseSet('Bound', 'in-tree'),
    deleted(PERSISTENT_VOLUMES, 'in-tree'),
    phaseSet('Released', 'in-tree'),
  ],
})
row('an in-tree class with zone parameters and allowedTopologies causes an event', {
  alone: 'cluster',
  setup: { ...migrated('gce-pd', GCE, { class: { parameters: { zones: 'a,b' } } }), args: ONCE },
  steps: [claimedInTree('gce-pd', GCE)],
})
row('a new volume that cannot be translated to in-tree form is deleted', {
  alone: 'cluster',
  setup: { ...migrated('gce-pd', GCE, { volume: { volumeId: 'strange' } }), args: ONCE },
  differs: ['deletes-volume-without-in-tree-form'],
  steps: [claimedInTree('gce-pd', GCE)],
})

/** A driver that reports topology in a cluster without topology: no Node has labels, no CSINode has keys. */
const WITHOUT_LABELS = {
  nodes: { a: { labels: {}, keys: [] } },
  answers: { CreateVolume: [volumeAnswer(inZone('zone', 'z1'))] },
}
const immediateAndLate = [
  claimed(),
  claimed(
    (t): ClaimParts & { class: object } => ({ class: LATE, annotations: { [SELECTED_NODE]: t.name('a') } }),
    '-late',
  ),
]
row('without the gate Topology, a driver with topology creates no volume in a cluster without labels', {
  setup: { ...WITHOUT_LABELS, args: ONCE },
  steps: immediateAndLate,
})
row('with Topology=false, a driver with topology creates volumes in a cluster without labels, as before', {
  setup: { ...WITHOUT_LABELS, args: [TOPOLOGY_OFF] },
  steps: immediateAndLate,
})

testsOf('provisioner', 'migration')(
  'the metrics count the calls for in-tree claims with the label migrated=true',
  {
    alone: 'cluster',
  },
  async (t) => {
    const inTree = 'kubernetes.io/portworx-volume'
    const driver = await t.driver({ name: 'pxd.portworx.com', controller: ['CREATE_DELETE_VOLUME'] })
    const { sidecar } = await scene(t, { driver, class: { provisioner: inTree } })
    await provision(t, { annotations: { [OWNER]: inTree, [MIGRATED_TO]: driver.name } })
    const labels = { method_name: '/csi.v1.Controller/CreateVolume', migrated: 'true' }
    equal((await sidecar.metrics()).value('csi_sidecar_operations_seconds_count', labels), 1)
  },
)
