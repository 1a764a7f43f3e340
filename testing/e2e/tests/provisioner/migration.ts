import { deepStrictEqual as equal, ok } from 'node:assert'
import type { PersistentVolumeSpec, StorageClass } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import { createdVolume, type FakeDriver } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import {
  calls,
  claimEvent,
  createClaim,
  createClass,
  deleted,
  provision,
  scene,
  setPhase,
} from '../../rows/provisioner/scene.ts'

const test = testsOf('provisioner', 'migration')
const MIGRATED_TO = 'pv.kubernetes.io/migrated-to'
const ZONE = 'topology.kubernetes.io/zone'
const REGION = 'topology.kubernetes.io/region'
const BETA_ZONE = 'failure-domain.beta.kubernetes.io/zone'

interface Plugin {
  readonly name: string
  readonly driver: string
  readonly class: Partial<StorageClass>
  /** The expected parameters of CreateVolume. */
  readonly parameters: Readonly<Record<string, string>> | undefined
  readonly fsType?: string
  /** The expected requisite topologies in CreateVolume, if the driver supports topology. */
  readonly requisite?: readonly Readonly<Record<string, string>>[]
  /** The volume in the driver's answer to CreateVolume. */
  readonly volume: object
  readonly source: Partial<PersistentVolumeSpec>
  /** The expected labels of the PersistentVolume. Its node affinity must contain the same topology. */
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  /** The expected volume ID of DeleteVolume. Default: the ID of the created volume. */
  readonly deleted?: RegExp
}

const inZone = (key: string, zone: string) => ({ accessibleTopology: [{ segments: { [key]: zone } }] })
const EBS_ZONE = 'topology.ebs.csi.aws.com/zone'
const GCE_ZONE = 'topology.gke.io/zone'
const CINDER_ZONE = 'topology.cinder.csi.openstack.org/zone'
const DISK = '/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/disks/d'

const PLUGINS: readonly Plugin[] = [
  {
    name: 'aws-ebs',
    driver: 'ebs.csi.aws.com',
    class: { parameters: { fsType: 'xfs', zones: 'eu-west-1b,eu-west-1a', iopsPerGB: '10' } },
    parameters: { iopsPerGB: '10', allowautoiopspergbincrease: 'true' },
    fsType: 'xfs',
    requisite: [{ [EBS_ZONE]: 'eu-west-1a' }, { [EBS_ZONE]: 'eu-west-1b' }],
    volume: { volumeId: 'vol-1', ...inZone(EBS_ZONE, 'eu-west-1a') },
    source: { awsElasticBlockStore: { volumeID: 'vol-1', fsType: 'xfs' } },
    labels: { [ZONE]: 'eu-west-1a', [REGION]: 'eu-west-1' },
  },
  {
    name: 'gce-pd',
    driver: 'pd.csi.storage.gke.io',
    class: { allowedTopologies: [{ matchLabelExpressions: [{ key: BETA_ZONE, values: ['us-east1-b'] }] }] },
    parameters: undefined,
    requisite: [{ [GCE_ZONE]: 'us-east1-b' }],
    volume: { volumeId: 'projects/p/zones/us-east1-b/disks/disk-1', ...inZone(GCE_ZONE, 'us-east1-b') },
    source: { gcePersistentDisk: { pdName: 'disk-1' } },
    labels: { [ZONE]: 'us-east1-b', [REGION]: 'us-east1' },
    deleted: /^projects\/UNSPECIFIED\/zones\/us-east1-b\/disks\/disk-1$/,
  },
  {
    name: 'cinder',
    driver: 'cinder.csi.openstack.org',
    class: {
      parameters: { fstype: 'ext3', availability: 'nova' },
      allowedTopologies: [{ matchLabelExpressions: [{ key: ZONE, values: ['nova'] }] }],
    },
    parameters: { availability: 'nova' },
    fsType: 'ext3',
    requisite: [{ [CINDER_ZONE]: 'nova' }],
    volume: { volumeId: 'c1', ...inZone(CINDER_ZONE, 'nova') },
    source: { cinder: { volumeID: 'c1', fsType: 'ext3' } },
    labels: { [ZONE]: 'nova' },
  },
  {
    name: 'azure-disk',
    driver: 'disk.csi.azure.com',
    class: { parameters: { fsType: 'xfs', cachingMode: 'None' } },
    parameters: { fsType: 'xfs', cachingMode: 'None' },
    fsType: 'xfs',
    volume: { volumeId: DISK, volumeContext: { cachingMode: 'ReadOnly', fsType: 'xfs' } },
    source: {
      azureDisk: {
        diskName: 'd',
        diskURI: DISK,
        cachingMode: 'ReadOnly',
        fsType: 'xfs',
        readOnly: false,
        kind: 'Managed',
      },
    },
  },
  {
    name: 'azure-file',
    driver: 'file.csi.azure.com',
    class: { parameters: { skuName: 'Standard_LRS' } },
    parameters: { skuName: 'Standard_LRS' },
    volume: { volumeId: 'rg#account#share#' },
    source: {
      azureFile: { secretName: 'azure-storage-account-account-secret', shareName: 'share', secretNamespace: 'default' },
    },
    annotations: { 'kubernetes.io/azure-file-resource-group': 'rg' },
    deleted: /^rg#account#share#pvc-[^#]+#default$/,
  },
  {
    name: 'vsphere-volume',
    driver: 'csi.vsphere.vmware.com',
    class: { parameters: { diskformat: 'thin', storagePolicyName: 'gold', other: 'x', fstype: 'ext4' } },
    parameters: { csimigration: 'true', 'diskformat-migrationparam': 'thin', storagepolicyname: 'gold' },
    fsType: 'ext4',
    volume: { volumeId: 'id', volumeContext: { initialvolumefilepath: '[ds] v.vmdk' } },
    source: { vsphereVolume: { volumePath: '[ds] v.vmdk', fsType: 'ext4' } },
    deleted: /^\[ds\] v\.vmdk$/,
  },
  {
    name: 'portworx-volume',
    driver: 'pxd.portworx.com',
    class: { parameters: { repl: '2' } },
    parameters: { repl: '2' },
    volume: { volumeId: 'px' },
    source: { portworxVolume: { volumeID: 'px' } },
  },
]

/** Starts a provisioner whose driver replaces a migrated in-tree plugin, and creates a class of the plugin. */
async function ready(
  t: TestContext,
  plugin: Plugin,
  fields: Partial<StorageClass> = plugin.class,
): Promise<FakeDriver> {
  const { driver: name, requisite, volume } = plugin
  const driver = await t.driver({ name, controller: ['CREATE_DELETE_VOLUME'], topology: requisite !== undefined })
  driver.on('CreateVolume', ({ request }) => ({ reply: { volume: createdVolume(request, volume) } }))
  await scene(t, { driver, class: { provisioner: `kubernetes.io/${plugin.name}`, ...fields } })
  return driver
}

const annotations = ({ driver, name }: Plugin) => ({
  'volume.kubernetes.io/storage-provisioner': `kubernetes.io/${name}`,
  [MIGRATED_TO]: driver,
})

for (const plugin of PLUGINS) {
  test(`an in-tree class of ${plugin.name} is translated for CreateVolume, and the PersistentVolume has the in-tree source`, async (t) => {
    const { name, parameters, fsType, requisite, source, labels, driver: driverName } = plugin
    const driver = await ready(t, plugin)
    const pv = await provision(t, { annotations: annotations(plugin) })
    const [call] = driver.callsOf('CreateVolume')
    const mount = fsType === undefined ? {} : { fs_type: fsType }
    equal(call?.request['parameters'], parameters)
    equal(call?.request['volume_capabilities'], [{ access_mode: { mode: 'SINGLE_NODE_WRITER' }, mount }])
    const required = call?.request['accessibility_requirements'] as { requisite?: object } | undefined
    equal(
      required?.requisite,
      requisite?.map((segments) => ({ segments })),
    )
    equal(pv.spec?.csi, undefined)
    for (const [field, value] of Object.entries(source)) equal(pv.spec?.[field as keyof typeof source], value)
    equal(pv.metadata?.labels, labels)
    const ownAnnotations = pv.metadata?.annotations ?? {}
    equal(ownAnnotations['pv.kubernetes.io/provisioned-by'], `kubernetes.io/${name}`)
    for (const [key, value] of Object.entries(plugin.annotations ?? {})) equal(ownAnnotations[key], value)
    const [term] = pv.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? []
    const expressions = term?.matchExpressions?.map(({ key, values }) => [key, values?.join()])
    equal(expressions && Object.fromEntries(expressions), labels)
    await setPhase(t, pv.metadata?.name ?? '', 'Released')
    await deleted(t, pv.metadata?.name ?? '')
    const [deletion] = driver.callsOf('DeleteVolume')
    const { volumeId } = plugin.volume as { volumeId: string }
    const id = String(deletion?.request['volume_id'])
    ok(plugin.deleted?.test(id) ?? id === volumeId, id)
    const metrics = await t.sidecars[0]?.metrics()
    const method = { method_name: '/csi.v1.Controller/CreateVolume', migrated: 'true' }
    equal(metrics?.value('csi_sidecar_operations_seconds_count', method), 1)
    await createClass(
      t,
      {
        provisioner: driverName,
        parameters: { zone: 'z', fstype: 'ext4' },
        volumeBindingMode: 'Immediate',
        ...(requisite && { allowedTopologies: [{ matchLabelExpressions: [{ key: 'k', values: ['v'] }] }] }),
      },
      'own',
    )
    driver.on('CreateVolume', { reply: {} })
    const owner = { 'volume.kubernetes.io/storage-provisioner': driverName }
    const plain = await provision(t, { suffix: '-own', annotations: owner, spec: { storageClassName: t.name('own') } })
    ok(plain.spec?.csi !== undefined)
    equal(driver.callsOf('CreateVolume').at(-1)?.request['parameters'], { zone: 'z', fstype: 'ext4' })
  })
}

const [, gce] = PLUGINS

test('an in-tree class with zone parameters and allowedTopologies causes an event', { alone: 'cluster' }, async (t) => {
  if (gce === undefined) return
  const driver = await ready(t, gce, { ...gce.class, parameters: { zones: 'a,b' } })
  await createClaim(t, { annotations: annotations(gce) })
  const text =
    'failed to translate storage class: cannot simultaneously set allowed topologies and zone/zones parameters'
  equal((await claimEvent(t, text)).message, text)
  equal(driver.callsOf('CreateVolume').length, 0)
})

test('a new volume that cannot be translated to in-tree form is deleted', {
  alone: 'cluster',
  only: 'ours',
}, async (t) => {
  if (gce === undefined) return
  const driver = await ready(t, { ...gce, volume: { ...gce.volume, volumeId: 'strange' } })
  await createClaim(t, { annotations: annotations(gce) })
  const [call] = await calls(driver, 'DeleteVolume')
  equal(call?.request['volume_id'], 'strange')
  equal((await claimEvent(t, 'failed to get id components')).reason, 'ProvisioningFailed')
})
