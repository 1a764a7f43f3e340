import { deepStrictEqual as equal } from 'node:assert'
import { PERSISTENT_VOLUMES, type PersistentVolumeSpec } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import { createdVolume, type FakeDriver } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import {
  claimEvent,
  createClaim,
  createNodes,
  deleted,
  FINALIZER,
  LATE,
  provision,
  SELECTED_NODE,
  scene,
  setPhase,
} from '../../rows/provisioner/scene.ts'

/** Tests of the dangerous rows in docs/migration.md, "What changes by version". */
const test = testsOf('provisioner', 'swap')

/** A node of a cluster without topology: the driver is registered without keys, and the Node has no labels. */
const NODE_WITHOUT_TOPOLOGY = { a: { labels: {}, keys: [] } }
const PREFIX = 'error generating accessibility requirements: '

/** Starts a driver that reports topology in a cluster without topology. Its answers name a topology. */
async function startWithoutLabels(t: TestContext, args: readonly string[], late: boolean): Promise<FakeDriver> {
  await createNodes(t, NODE_WITHOUT_TOPOLOGY)
  const accessibleTopology = [{ segments: { zone: 'z1' } }]
  const { driver } = await scene(t, {
    topology: true,
    args,
    class: late ? LATE : {},
    prepare: (prepared) => {
      prepared.on('CreateVolume', ({ request }) => ({
        reply: { volume: createdVolume(request, { accessibleTopology }) },
      }))
    },
  })
  return driver
}

const selected = (t: TestContext, late: boolean) => ({
  annotations: { [SELECTED_NODE]: late ? t.name('a') : undefined },
})

for (const late of [false, true]) {
  const binding = late ? 'late' : 'immediate'

  test(`without the gate Topology, a driver with topology in a cluster without labels creates no volume, with ${binding} binding`, async (t) => {
    const driver = await startWithoutLabels(t, [], late)
    await createClaim(t, selected(t, late))
    // Nodes of other tests are registered for other drivers, so no node has a key of this driver.
    const reason = late ? `no topology key found for node ${t.name('a')}` : 'no available topology found'
    equal((await claimEvent(t, `${PREFIX}${reason}`)).reason, 'ProvisioningFailed')
    equal(driver.callsOf('CreateVolume').length, 0)
  })

  test(`with Topology=false, a driver with topology in a cluster without labels creates volumes as before, with ${binding} binding`, async (t) => {
    const driver = await startWithoutLabels(t, ['--feature-gates=Topology=false'], late)
    const pv = await provision(t, selected(t, late))
    equal(driver.callsOf('CreateVolume')[0]?.request['accessibility_requirements'], undefined)
    equal(pv.spec?.nodeAffinity, undefined)
  })
}

interface InTreeVolume {
  readonly plugin: string
  readonly driver: string
  readonly spec: Omit<Partial<PersistentVolumeSpec>, 'csi'>
  readonly labels?: Readonly<Record<string, string>>
  /** The expected volume ID of DeleteVolume. */
  readonly handle: (name: string) => string
}

const ZONE = 'topology.kubernetes.io/zone'
const DISK = '/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/disks/d'

/** Volumes as the in-tree plugins have created them, before any csi-provisioner saw them. */
const IN_TREE: readonly InTreeVolume[] = [
  {
    plugin: 'aws-ebs',
    driver: 'ebs.csi.aws.com',
    spec: { awsElasticBlockStore: { volumeID: 'aws://eu-west-1a/vol-1', fsType: 'ext4' } },
    labels: { [ZONE]: 'eu-west-1a' },
    handle: () => 'vol-1',
  },
  {
    plugin: 'gce-pd',
    driver: 'pd.csi.storage.gke.io',
    spec: { gcePersistentDisk: { pdName: 'disk-1', fsType: 'ext4' } },
    labels: { [ZONE]: 'us-east1-b' },
    handle: () => 'projects/UNSPECIFIED/zones/us-east1-b/disks/disk-1',
  },
  {
    plugin: 'cinder',
    driver: 'cinder.csi.openstack.org',
    spec: { cinder: { volumeID: 'c1' } },
    handle: () => 'c1',
  },
  {
    plugin: 'azure-disk',
    driver: 'disk.csi.azure.com',
    spec: { azureDisk: { diskName: 'd', diskURI: DISK, kind: 'Managed' } },
    handle: () => DISK,
  },
  {
    plugin: 'azure-file',
    driver: 'file.csi.azure.com',
    spec: { azureFile: { secretName: 'azure-storage-account-account-secret', shareName: 's', secretNamespace: 'ns' } },
    handle: (name) => `#account#s#${name}#ns`,
  },
  {
    plugin: 'vsphere-volume',
    driver: 'csi.vsphere.vmware.com',
    spec: { vsphereVolume: { volumePath: '[ds] kubevols/v.vmdk', fsType: 'ext4' } },
    handle: () => '[ds] kubevols/v.vmdk',
  },
  {
    plugin: 'portworx-volume',
    driver: 'pxd.portworx.com',
    spec: { portworxVolume: { volumeID: 'px' } },
    handle: () => 'px',
  },
]

/** Creates a volume of the in-tree plugin, without a finalizer of the provisioner. Returns its name. */
function createInTree(t: TestContext, { plugin, driver, spec, labels = {} }: InTreeVolume): Promise<string> {
  const annotations = {
    'pv.kubernetes.io/provisioned-by': `kubernetes.io/${plugin}`,
    'pv.kubernetes.io/migrated-to': driver,
  }
  return t.createVolume('in-tree', {
    metadata: { annotations, labels },
    csi: null,
    persistentVolumeReclaimPolicy: 'Delete',
    ...spec,
  })
}

for (const inTree of IN_TREE) {
  for (const args of [[], ['--feature-gates=Topology=false']]) {
    test(`a released volume of the in-tree plugin ${inTree.plugin} is deleted in a cluster without labels ${args.length === 0 ? 'without the gate Topology' : 'with Topology=false'}`, {
      alone: 'cluster',
    }, async (t) => {
      const driver = await t.driver({ name: inTree.driver, controller: ['CREATE_DELETE_VOLUME'], topology: true })
      await scene(t, { driver, args })
      const name = await createInTree(t, inTree)
      await setPhase(t, name, 'Released')
      await deleted(t, name)
      equal(driver.callsOf('DeleteVolume')[0]?.request['volume_id'], inTree.handle(name))
    })
  }
}

test('a volume of an in-tree plugin that is deleted before its claim is deleted in the back end, too', {
  alone: 'cluster',
}, async (t) => {
  const [inTree] = IN_TREE.filter(({ plugin }) => plugin === 'vsphere-volume')
  if (inTree === undefined) throw new Error('no volume of vSphere')
  const driver = await t.driver({ name: inTree.driver, controller: ['CREATE_DELETE_VOLUME'] })
  await scene(t, { driver })
  const name = await createInTree(t, inTree)
  await setPhase(t, name, 'Bound')
  await t.api.until(PERSISTENT_VOLUMES, { name }, ({ metadata }) => (metadata?.finalizers ?? []).includes(FINALIZER))
  await t.api.delete(PERSISTENT_VOLUMES, { name })
  equal(driver.callsOf('DeleteVolume').length, 0)
  await setPhase(t, name, 'Released')
  await deleted(t, name)
  equal(driver.callsOf('DeleteVolume')[0]?.request['volume_id'], inTree.handle(name))
})
