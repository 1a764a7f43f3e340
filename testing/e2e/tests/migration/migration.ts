import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUMES, type PersistentVolumeSpec, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { attachment, type VolumeParts } from '../../harness/api/objects.ts'
import type { TestContext } from '../../harness/context.ts'
import type { ScrapedMetrics } from '../../harness/process/sidecar.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import {
  type AttacherScene,
  afterLaterWork,
  attach,
  attachAndWait,
  attached,
  scene as attacherScene,
  attachFailed,
  detachAndWait,
  finalizerOf,
  LISTS,
  volumeCalls,
} from '../../rows/attacher/scene.ts'
import {
  editClaim,
  expands,
  GI,
  getVolume,
  grown,
  raised,
  resized,
  scene,
  untilEvent,
} from '../../rows/resizer/scene.ts'

/** An in-tree volume, and the calls to the driver that are expected for it. */
interface InTreeVolume {
  readonly driver: string
  readonly spec: Partial<PersistentVolumeSpec>
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  /** True if two annotations of the volume refer to a Secret. */
  readonly secret?: true
  /** The expected volume handle. PV means the name of the volume, which some plugins include. */
  readonly handle: string
  readonly context?: Readonly<Record<string, string>>
  readonly fsType?: string
  readonly mode?: string
  readonly readOnly?: boolean
}

const ZONE = 'topology.kubernetes.io/zone'
const BETA_ZONE = 'failure-domain.beta.kubernetes.io/zone'
const EBS = 'ebs.csi.aws.com'
const GCE = 'pd.csi.storage.gke.io'
const DISK = '/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/disks/d'

const VOLUMES: readonly InTreeVolume[] = [
  {
    driver: EBS,
    spec: { awsElasticBlockStore: { volumeID: 'aws://eu-west-1a/vol-0abc', fsType: 'xfs' } },
    handle: 'vol-0abc',
    context: { partition: '0' },
    fsType: 'xfs',
  },
  {
    driver: EBS,
    spec: { awsElasticBlockStore: { volumeID: 'vol-1', partition: 3 } },
    handle: 'vol-1',
    context: { partition: '3' },
  },
  {
    driver: GCE,
    spec: { gcePersistentDisk: { pdName: 'disk-a', fsType: 'ext4' } },
    labels: { [ZONE]: 'us-east1-b' },
    handle: 'projects/UNSPECIFIED/zones/us-east1-b/disks/disk-a',
    context: { partition: '' },
    fsType: 'ext4',
  },
  {
    driver: GCE,
    spec: { gcePersistentDisk: { pdName: 'disk-b' }, accessModes: ['ReadWriteMany'] },
    labels: { [BETA_ZONE]: 'us-east1-b__us-east1-c' },
    handle: 'projects/UNSPECIFIED/regions/us-east1/disks/disk-b',
    context: { partition: '' },
  },
  {
    driver: GCE,
    spec: { gcePersistentDisk: { pdName: 'disk-c', partition: 2, readOnly: true }, accessModes: ['ReadOnlyMany'] },
    handle: 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk-c',
    context: { partition: '2' },
    mode: 'MULTI_NODE_READER_ONLY',
    readOnly: true,
  },
  {
    driver: 'cinder.csi.openstack.org',
    spec: { cinder: { volumeID: 'c1-id', fsType: 'ext3', readOnly: true } },
    handle: 'c1-id',
    fsType: 'ext3',
    readOnly: true,
  },
  {
    driver: 'disk.csi.azure.com',
    spec: { azureDisk: { diskName: 'd', diskURI: DISK, kind: 'Managed', cachingMode: 'ReadOnly', fsType: 'xfs' } },
    handle: DISK,
    context: { cachingmode: 'ReadOnly', fstype: 'xfs', kind: 'Managed' },
    fsType: 'xfs',
  },
  {
    driver: 'file.csi.azure.com',
    spec: {
      azureFile: {
        secretName: 'azure-storage-account-acc-secret',
        shareName: 'share',
        secretNamespace: 'default',
        readOnly: false,
      },
      accessModes: ['ReadWriteMany'],
    },
    annotations: { 'kubernetes.io/azure-file-resource-group': 'rg' },
    handle: 'rg#acc#share#PV#default',
    context: { sharename: 'share' },
    mode: 'MULTI_NODE_MULTI_WRITER',
  },
  {
    driver: 'csi.vsphere.vmware.com',
    spec: { vsphereVolume: { volumePath: '[ds] kubevols/v.vmdk', fsType: 'ext4', storagePolicyName: 'gold' } },
    handle: '[ds] kubevols/v.vmdk',
    context: { storagepolicyname: 'gold' },
    fsType: 'ext4',
  },
  {
    driver: 'pxd.portworx.com',
    spec: { portworxVolume: { volumeID: 'px-1', fsType: 'ext4', readOnly: true } },
    secret: true,
    handle: 'px-1',
    fsType: 'ext4',
  },
]

/** The volumes of each driver. One test covers a driver, because parallel tests must not use the same driver name. */
const DRIVERS = Object.entries(Object.groupBy(VOLUMES, ({ driver }) => driver)) as [string, readonly InTreeVolume[]][]

const MIGRATED_TO = 'pv.kubernetes.io/migrated-to'
const RESIZER = 'volume.kubernetes.io/storage-resizer'
const CSI = 'csi_sidecar_operations_seconds_count'

const attacher = testsOf('attacher', 'migration')
const resizer = testsOf('resizer', 'migration')

type Source = Pick<InTreeVolume, 'driver' | 'spec' | 'labels' | 'annotations' | 'secret'>

function inTree(t: TestContext, { driver, spec, labels, annotations, secret }: Source): VolumeParts {
  const reference = {
    'openstorage.io/auth-secret-name': t.name('px'),
    'openstorage.io/auth-secret-namespace': 'default',
  }
  const all = { [MIGRATED_TO]: driver, ...annotations, ...(secret && reference) }
  return { ...spec, csi: null, metadata: { labels, annotations: all } }
}

function capabilityOf({ fsType, mode = 'SINGLE_NODE_WRITER' }: InTreeVolume): object {
  return { mount: fsType === undefined ? {} : { fs_type: fsType }, access_mode: { mode } }
}

/** Creates the Secret if any of the volumes refers to it. Returns the `secrets` that the driver requests must have. */
async function secretsOf(t: TestContext, volumes: readonly InTreeVolume[]): Promise<{ readonly secrets?: object }> {
  if (!volumes.some(({ secret }) => secret)) return {}
  const secrets = { token: 'secret' }
  await t.createSecret(secrets, 'px')
  return { secrets }
}

/** Starts the attacher with a driver of this name. */
async function besideDriver(t: TestContext, name: string): Promise<AttacherScene> {
  return attacherScene(t, { driver: await t.driver({ name, controller: ['PUBLISH_UNPUBLISH_VOLUME'] }) })
}

const METHOD = '/csi.v1.Controller/Controller'
const ofUnknown = ({ samples }: ScrapedMetrics): unknown[] =>
  samples.filter(({ labels }) => labels['driver_name'] === 'unknown-driver')
const AZURE_DISK = { diskName: 'd', diskURI: 'https://a.blob.core.windows.net/c/d.vhd', kind: 'Dedicated' }

for (const [name, volumes] of DRIVERS) {
  attacher(`the attacher translates in-tree volumes of ${name} in its driver calls, but not in the PV`, async (t) => {
    const driver = await t.driver({ name, controller: ['PUBLISH_UNPUBLISH_VOLUME', 'PUBLISH_READONLY'] })
    const secrets = await secretsOf(t, volumes)
    const { attacher: sidecar, node } = await attacherScene(t, { driver })
    for (const [index, each] of volumes.entries()) {
      const va = t.name(`va-${index}`)
      const pv = await t.createVolume(`pv-${index}`, inTree(t, each))
      const made = await getVolume(t, pv)
      await t.create(VOLUME_ATTACHMENTS, attachment(va, name, { pv, node }))
      await attached(t, va)
      const handle = each.handle.replace('PV', pv)
      const call = volumeCalls(driver).find(({ request }) => request['volume_id'] === handle)
      equal(call?.request, {
        volume_id: handle,
        node_id: `${node}-id`,
        volume_capability: capabilityOf(each),
        ...(each.readOnly === true && { readonly: true }),
        ...secrets,
        ...(each.context !== undefined && { volume_context: each.context }),
      })
      const now = await getVolume(t, pv)
      equal(now.spec, made.spec)
      equal(now.metadata?.finalizers, [finalizerOf(name)])
      await detachAndWait(t, va)
      const last = driver.callsOf('ControllerUnpublishVolume').at(-1)
      equal(last?.request['volume_id'], handle)
    }
    const metrics = await sidecar.metrics()
    const publish = `${METHOD}PublishVolume`
    ok((metrics.value(CSI, { method_name: publish, migrated: 'true' }) ?? 0) >= volumes.length)
    equal(metrics.value(CSI, { method_name: publish, migrated: 'false' }), undefined)
    equal(ofUnknown(metrics), [])
  })

  resizer(`the resizer translates in-tree volumes of ${name} in its calls, and resizes the PV`, async (t) => {
    const driver = await t.driver({ name, controller: ['EXPAND_VOLUME'] })
    const secrets = await secretsOf(t, volumes)
    const at = await scene(t, { driver })
    for (const [index, each] of volumes.entries()) {
      const suffix = `-${index}`
      const accessModes = each.spec.accessModes ?? ['ReadWriteOnce']
      const claim = { accessModes, metadata: { annotations: { [RESIZER]: name } } }
      const { pv } = await grown(t, { suffix, claim, pv: inTree(t, each) })
      const handle = each.handle.replace('PV', pv)
      const call = expands(at).find(({ request }) => request['volume_id'] === handle)
      equal(call?.request, {
        volume_id: handle,
        capacity_range: { required_bytes: String(2 * GI) },
        volume_capability: capabilityOf(each),
        ...secrets,
      })
      const now = await getVolume(t, pv)
      equal(now.spec?.capacity, { storage: '2Gi' })
      equal(now.spec?.csi, undefined)
    }
    const metrics = await at.resizer.metrics()
    const expand = `${METHOD}ExpandVolume`
    ok((metrics.value(CSI, { method_name: expand, migrated: 'true' }) ?? 0) >= 1)
    ok((metrics.value(CSI, { method_name: '/csi.v1.Identity/Probe', migrated: 'false' }) ?? 0) >= 1)
    equal(ofUnknown(metrics), [])
  })
}

// The test runs alone, because other tests use the same driver name.
attacher('an ID with 80,000 slashes fails quickly and blocks no other volume', { alone: 'cluster' }, async (t) => {
  const at = await besideDriver(t, EBS)
  const { attacher: sidecar } = at
  for (const [suffix, volumeID] of [
    ['-bad', `aws://z/vol-1${'/'.repeat(80_000)}x`],
    ['-good', 'aws://z/vol-2'],
  ] as const) {
    await attach(t, at, { suffix, pv: inTree(t, { driver: EBS, spec: { awsElasticBlockStore: { volumeID } } }) })
  }
  await attached(t, t.name('va-good'))
  // The Go sidecars do not shorten the error message, so the API server refuses the status.
  if (t.ours) await attachFailed(t, 'Invalid format for AWS volume', t.name('va-bad'))
  equal((await sidecar.http(t.ours ? '/livez' : '/metrics')).code, 200)
  const cpuSeconds = (await sidecar.metrics()).value('process_cpu_seconds_total') ?? Infinity
  ok(cpuSeconds < 4, `${cpuSeconds} s of CPU`)
})

attacher('the attacher of a migrated driver calls Probe twice at its start, as the Go attacher does', async (t) => {
  const { driver } = await besideDriver(t, 'cinder.csi.openstack.org')
  const seen = driver.calls.map(({ method }) => method)
  equal(seen, ['Probe', 'GetPluginInfo', 'Probe', 'GetPluginCapabilities', 'ControllerGetCapabilities'])
})

attacher('attachError reports an in-tree volume that cannot be translated', async (t) => {
  const at = await besideDriver(t, 'disk.csi.azure.com')
  await attach(t, at, { pv: { csi: null, azureDisk: AZURE_DISK } })
  // `attachError` reports a missing volume until the volume is in the cache.
  const text = 'failed to translate in tree pv to CSI: kind(Dedicated) is not supported in csi migration'
  const { status, metadata } = await attachFailed(t, text)
  equal(status?.attachError?.message, text)
  equal(metadata?.finalizers, undefined)
  equal(volumeCalls(at.driver), [])
  equal((await getVolume(t)).metadata?.finalizers, [at.finalizer])
})

attacher('the attacher removes its finalizer from a PV that is no longer migrated', { alone: 'cluster' }, async (t) => {
  const name = 'csi.vsphere.vmware.com'
  const at = await besideDriver(t, name)
  const { finalizer } = at
  const metadata = { finalizers: ['example.com/a', finalizer], annotations: { [MIGRATED_TO]: name } }
  const pv = await t.createVolume('pv', { csi: null, vsphereVolume: { volumePath: 'p' }, metadata })
  equal((await afterLaterWork(t, at)).writes, [])
  await t.api.merge(PERSISTENT_VOLUMES, { name: pv }, { metadata: { annotations: { [MIGRATED_TO]: null } } })
  const back = await t.api.until(PERSISTENT_VOLUMES, { name: pv }, (now) => now.metadata?.finalizers?.length === 1)
  equal(back.metadata?.finalizers, ['example.com/a'])
})

attacher('the metrics count the attach of a CSI inline volume with the label migrated=false', async (t) => {
  const name = 'file.csi.azure.com'
  const { attacher: sidecar, node } = await besideDriver(t, name)
  const inlineVolumeSpec = { accessModes: ['ReadWriteMany'], csi: { driver: name, volumeHandle: '#a#s#v#ns' } }
  await t.create(VOLUME_ATTACHMENTS, attachment(t.name('va'), name, { node, source: { inlineVolumeSpec } }))
  await attached(t)
  const method_name = `${METHOD}PublishVolume`
  ok(((await sidecar.metrics()).value(CSI, { method_name, migrated: 'false' }) ?? 0) >= 1)
})

attacher('the attacher finds a GCE volume in ListVolumes by the project and zone in the node ID', async (t) => {
  const name = GCE
  const driver = await t.driver({ name, controller: LISTS })
  const nodeId = 'projects/p1/zones/us-east1-b/instances/i1'
  const node = await t.createNode('node', { driver: name, id: nodeId })
  const volumeId = 'projects/p1/zones/us-east1-b/disks/disk-x'
  const listed = { volume: { volumeId, capacityBytes: 0n, volumeContext: {}, accessibleTopology: [] } }
  driver.on('ListVolumes', { reply: { entries: [{ ...listed, status: { publishedNodeIds: [nodeId] } }] } })
  const args = ['--reconcile-sync=300ms', ...(t.ours ? ['--reconcile-confirmations=1'] : [])]
  await t.running({ driver, args }, 'volumeattachments', 'persistentvolumes', 'csinodes')
  const metadata = { annotations: { [MIGRATED_TO]: name } }
  const pv = { gcePersistentDisk: { pdName: 'disk-x' }, csi: null, metadata }
  await attachAndWait(t, { node, driver }, { pv })
  const untilListed = async (times: number): Promise<void> => {
    const { length } = driver.callsOf('ListVolumes')
    await eventually(`${times} listings`, () => driver.callsOf('ListVolumes').length >= length + times)
  }
  await untilListed(1)
  const before = volumeCalls(driver).length
  await untilListed(4)
  equal(volumeCalls(driver).length, before)
  equal(volumeCalls(driver)[0]?.request['volume_id'], 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk-x')
})

resizer('the resizer expands an in-tree claim only if an annotation of the claim names the driver', async (t) => {
  const name = 'cinder.csi.openstack.org'
  const driver = await t.driver({ name, controller: ['EXPAND_VOLUME'] })
  await scene(t, { driver })
  await raised(t, { pv: { csi: null, cinder: { volumeID: 'late' } } })
  const named = {
    pv: { csi: null, cinder: { volumeID: 'named' } },
    claim: { metadata: { annotations: { [RESIZER]: name } } },
  }
  await raised(t, { ...named, suffix: '-named' })
  await resized(t, '2Gi', t.name('pvc-named'))
  equal(new Set(driver.fieldsOf('ControllerExpandVolume', 'volume_id')), new Set(['named']))
  await editClaim(t, { metadata: { annotations: { [RESIZER]: name } } })
  await resized(t, '2Gi')
})

resizer('an event reports an in-tree volume that the resizer cannot translate', async (t) => {
  const name = 'disk.csi.azure.com'
  const driver = await t.driver({ name, controller: ['EXPAND_VOLUME'] })
  const at = await scene(t, { driver })
  const annotations = { [RESIZER]: name }
  await raised(t, { pv: { csi: null, azureDisk: AZURE_DISK }, claim: { metadata: { annotations } } })
  equal(
    await untilEvent(t, 'VolumeResizeFailed'),
    `Warning VolumeResizeFailed resize volume "${t.name('pv')}" by resizer "${name}" failed: failed to translate persistent volume: kind(Dedicated) is not supported in csi migration`,
  )
  await eventually('no call', () => expands(at).length === 0)
})
