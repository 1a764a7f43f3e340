import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import type { VolumeParts } from '../../harness/api/objects.ts'
import type { TestContext } from '../../harness/context.ts'
import type { ScrapedMetrics } from '../../harness/process/sidecar.ts'
import { testsOf } from '../../harness/test.ts'
import { deleted, made, merged, type Of, secretCreated } from '../../rows/actions.ts'
import { attach, attacherRows, comparing, listings, page, volumeCreated } from '../../rows/attacher/rows.ts'
import {
  type AttacherScene,
  attached,
  scene as attacherScene,
  attachFailed,
  attach as attachNow,
  LISTS,
} from '../../rows/attacher/scene.ts'
import { raised, resizerRows } from '../../rows/resizer/rows.ts'
import { grown, scene } from '../../rows/resizer/scene.ts'

/** Rows about volumes of in-tree plugins. Their traces show the translated volumes in the calls to the driver. */

const ZONE = 'topology.kubernetes.io/zone'
const BETA_ZONE = 'failure-domain.beta.kubernetes.io/zone'
const EBS = 'ebs.csi.aws.com'
const GCE = 'pd.csi.storage.gke.io'
const CINDER = 'cinder.csi.openstack.org'
const AZURE_DISK = 'disk.csi.azure.com'
const AZURE_FILE = 'file.csi.azure.com'
const VSPHERE = 'csi.vsphere.vmware.com'
const PORTWORX = 'pxd.portworx.com'
const DISK = '/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/disks/d'

const withPortworxSecret = (t: TestContext) => ({
  'openstorage.io/auth-secret-name': t.name('secret'),
  'openstorage.io/auth-secret-namespace': 'default',
})

/** A volume of an in-tree plugin, with annotations in addition to the one that names the driver. */
type InTreeVolume = VolumeParts & { readonly annotations?: Of<Readonly<Record<string, string>>> }

/** The volumes of each driver. One row covers a driver, because parallel rows must not use the same driver name. */
const VOLUMES: Readonly<Record<string, readonly InTreeVolume[]>> = {
  [EBS]: [
    { awsElasticBlockStore: { volumeID: 'aws://eu-west-1a/vol-0abc', fsType: 'xfs' } },
    { awsElasticBlockStore: { volumeID: 'vol-1', partition: 3 } },
  ],
  [GCE]: [
    { gcePersistentDisk: { pdName: 'disk-a', fsType: 'ext4' }, metadata: { labels: { [ZONE]: 'us-east1-b' } } },
    {
      gcePersistentDisk: { pdName: 'disk-b' },
      accessModes: ['ReadWriteMany'],
      metadata: { labels: { [BETA_ZONE]: 'us-east1-b__us-east1-c' } },
    },
    { gcePersistentDisk: { pdName: 'disk-c', partition: 2, readOnly: true }, accessModes: ['ReadOnlyMany'] },
  ],
  [CINDER]: [{ cinder: { volumeID: 'c1-id', fsType: 'ext3', readOnly: true } }],
  [AZURE_DISK]: [
    { azureDisk: { diskName: 'd', diskURI: DISK, kind: 'Managed', cachingMode: 'ReadOnly', fsType: 'xfs' } },
  ],
  [AZURE_FILE]: [
    {
      azureFile: {
        secretName: 'azure-storage-account-acc-secret',
        shareName: 'share',
        secretNamespace: 'default',
        readOnly: false,
      },
      accessModes: ['ReadWriteMany'],
      annotations: { 'kubernetes.io/azure-file-resource-group': 'rg' },
    },
  ],
  [VSPHERE]: [{ vsphereVolume: { volumePath: '[ds] kubevols/v.vmdk', fsType: 'ext4', storagePolicyName: 'gold' } }],
  [PORTWORX]: [
    { portworxVolume: { volumeID: 'px-1', fsType: 'ext4', readOnly: true }, annotations: withPortworxSecret },
  ],
}

const MIGRATED_TO = 'pv.kubernetes.io/migrated-to'
const RESIZER = 'volume.kubernetes.io/storage-resizer'
const ONCE = ['--retry-interval-start=1h', '--retry-interval-max=1h']

/** Returns a PersistentVolume of the plugin that the driver replaces. */
const inTree =
  (driver: string, { annotations = {}, metadata, ...spec }: InTreeVolume) =>
  (t: TestContext): VolumeParts => ({
    ...spec,
    csi: null,
    metadata: { ...metadata, annotations: { [MIGRATED_TO]: driver, ...made(t, annotations) } },
  })

const attachInTree = (driver: string, each: InTreeVolume, suffix = '') =>
  attach({ pv: inTree(driver, each), va: { driver }, suffix })

/** Creates a claim that has an in-tree volume and names the driver as its resizer. Requests a larger size. */
const raisedInTree = (driver: string, each: InTreeVolume, suffix = '') =>
  raised({
    of: (t) => ({
      suffix,
      claim: { accessModes: each.accessModes ?? ['ReadWriteOnce'], metadata: { annotations: { [RESIZER]: driver } } },
      pv: inTree(driver, each)(t),
    }),
  })

const row = attacherRows('migration', import.meta.filename)
const resizing = resizerRows('migration', import.meta.filename)

for (const [name, volumes] of Object.entries(VOLUMES)) {
  const secrets = name === PORTWORX ? [secretCreated({ token: 'secret' })] : []
  row(`the attacher translates in-tree volumes of ${name} in its driver calls, but not in the PV`, {
    setup: { driver: { name }, controller: ['PUBLISH_UNPUBLISH_VOLUME', 'PUBLISH_READONLY'] },
    steps: [
      ...secrets,
      ...volumes.flatMap((each, index) => [
        attachInTree(name, each, `-${index}`),
        deleted(VOLUME_ATTACHMENTS, `va-${index}`),
      ]),
    ],
  })
  resizing(`the resizer translates in-tree volumes of ${name} in its calls, and resizes the PV`, {
    setup: { driver: { name } },
    steps: [...secrets, ...volumes.map((each, index) => raisedInTree(name, each, `-${index}`))],
  })
}

// The other rows and tests run alone, because they use the same driver names.
const VHD = { azureDisk: { diskName: 'd', diskURI: 'https://a.blob.core.windows.net/c/d.vhd', kind: 'Dedicated' } }
row('attachError reports an in-tree volume that cannot be translated', {
  alone: 'cluster',
  setup: { driver: { name: AZURE_DISK }, args: ONCE },
  steps: [attachInTree(AZURE_DISK, VHD)],
})
resizing('an event reports an in-tree volume that the resizer cannot translate', {
  alone: 'cluster',
  setup: { driver: { name: AZURE_DISK }, args: ONCE },
  steps: [raisedInTree(AZURE_DISK, VHD)],
})
row('the attacher removes its finalizer from a PV that is no longer migrated', {
  alone: 'cluster',
  setup: { driver: { name: VSPHERE } },
  steps: [
    volumeCreated({
      csi: null,
      vsphereVolume: { volumePath: 'p' },
      metadata: {
        finalizers: ['example.com/a', 'external-attacher/csi-vsphere-vmware-com'],
        annotations: { [MIGRATED_TO]: VSPHERE },
      },
    }),
    merged(PERSISTENT_VOLUMES, 'pv', { metadata: { annotations: { [MIGRATED_TO]: null } } }),
  ],
})
resizing('the resizer expands an in-tree claim only if an annotation of the claim names the driver', {
  alone: 'cluster',
  setup: { driver: { name: CINDER } },
  steps: [
    raised({ of: { pv: { csi: null, cinder: { volumeID: 'c2-id' } } } }),
    merged(PERSISTENT_VOLUME_CLAIMS, 'pvc', { metadata: { annotations: { [RESIZER]: CINDER } } }),
  ],
})

const PROJECT = 'projects/p1/zones/us-east1-b'
const NODE_ID = `${PROJECT}/instances/i1`
row('the attacher finds a GCE volume in ListVolumes by the project and zone in the node ID', {
  alone: 'cluster',
  setup: {
    driver: { name: GCE },
    controller: LISTS,
    nodeId: NODE_ID,
    args: comparing(),
    answers: { ListVolumes: [page({ [`${PROJECT}/disks/disk-x`]: [NODE_ID] })] },
  },
  steps: [attachInTree(GCE, { gcePersistentDisk: { pdName: 'disk-x' } }), listings],
})

const ALONE = { alone: 'cluster' } as const
const attacher = testsOf('attacher', 'migration', ALONE)
const CALLS = 'csi_sidecar_operations_seconds_count'
const PUBLISH = { method_name: '/csi.v1.Controller/ControllerPublishVolume' }
const EXPAND = { method_name: '/csi.v1.Controller/ControllerExpandVolume' }

/** Starts the attacher with a driver of this name. */
async function besideDriver(t: TestContext, name: string): Promise<AttacherScene> {
  return attacherScene(t, { driver: await t.driver({ name, controller: ['PUBLISH_UNPUBLISH_VOLUME'] }) })
}

function hasUnknownDriver({ samples }: ScrapedMetrics): boolean {
  return samples.some(({ labels }) => labels['driver_name'] === 'unknown-driver')
}

attacher('an ID with 80,000 slashes fails quickly and blocks no other volume', async (t) => {
  const at = await besideDriver(t, EBS)
  for (const [suffix, volumeID] of [
    ['-bad', `aws://z/vol-1${'/'.repeat(80_000)}x`],
    ['-good', 'aws://z/vol-2'],
  ] as const) {
    await attachNow(t, at, { suffix, pv: inTree(EBS, { awsElasticBlockStore: { volumeID } })(t) })
  }
  await attached(t, t.name('va-good'))
  // The Go sidecars do not shorten the error message, so the API server refuses the status.
  if (t.ours) await attachFailed(t, 'Invalid format for AWS volume', t.name('va-bad'))
  equal((await at.attacher.http(t.ours ? '/livez' : '/metrics')).code, 200)
  const cpuSeconds = (await at.attacher.metrics()).value('process_cpu_seconds_total') ?? Infinity
  ok(cpuSeconds < 4, `${cpuSeconds} s of CPU`)
})

attacher('the attacher of a migrated driver calls Probe twice at its start, as the Go attacher does', async (t) => {
  const { driver } = await besideDriver(t, CINDER)
  const seen = driver.calls.map(({ method }) => method)
  equal(seen, ['Probe', 'GetPluginInfo', 'Probe', 'GetPluginCapabilities', 'ControllerGetCapabilities'])
})

attacher('the label migrated in the metrics of the attacher is true for in-tree volumes only', async (t) => {
  const at = await besideDriver(t, AZURE_FILE)
  await attachNow(t, at, { pv: inTree(AZURE_FILE, VOLUMES[AZURE_FILE]?.[0] ?? {})(t) })
  await attached(t)
  const inlineVolumeSpec = { accessModes: ['ReadWriteMany'], csi: { driver: AZURE_FILE, volumeHandle: '#a#s#v#ns' } }
  await t.createAttachment('va-inline', { driver: AZURE_FILE, node: at.node, source: { inlineVolumeSpec } })
  await attached(t, t.name('va-inline'))
  const metrics = await at.attacher.metrics()
  for (const migrated of ['true', 'false']) {
    // The Go attacher often repeats the first call.
    ok((metrics.value(CALLS, { ...PUBLISH, migrated }) ?? 0) >= 1, migrated)
  }
  ok(!hasUnknownDriver(metrics))
})

testsOf('resizer', 'migration')(
  'the label migrated in the metrics of the resizer is true for in-tree volumes only',
  {
    alone: 'cluster',
  },
  async (t) => {
    const { resizer } = await scene(t, { driver: await t.driver({ name: CINDER, controller: ['EXPAND_VOLUME'] }) })
    const metadata = { annotations: { [RESIZER]: CINDER } }
    await grown(t, { claim: { metadata }, pv: { csi: null, cinder: { volumeID: 'c3-id' } } })
    const metrics = await resizer.metrics()
    ok((metrics.value(CALLS, { ...EXPAND, migrated: 'true' }) ?? 0) >= 1)
    ok((metrics.value(CALLS, { method_name: '/csi.v1.Identity/Probe', migrated: 'false' }) ?? 0) >= 1)
    ok(!hasUnknownDriver(metrics))
  },
)
