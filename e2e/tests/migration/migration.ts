import { deepStrictEqual as equal, ok } from 'node:assert'
import {
  CSI_NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  SECRETS,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import { attachment, csiNode, secret, type VolumeParts, volume } from '../../harness/api/objects.ts'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import { attached, attachFailed, finalizerOf, volumeCalls } from '../attacher/scene.ts'
import { ask, bound, expands, GI, getVolume, resized, scene, untilEvent } from '../resizer/scene.ts'
import { type InTreeVolume, PLUGINS, type Plugin } from './plugins.ts'

const MIGRATED_TO = 'pv.kubernetes.io/migrated-to'
const RESIZER = 'volume.kubernetes.io/storage-resizer'
const CSI = 'csi_sidecar_operations_seconds_count'

const attacher = testsOf('attacher', 'migration')
const resizer = testsOf('resizer', 'migration')

function inTree(
  t: TestContext,
  { spec, labels, annotations, secret: needed }: InTreeVolume,
  driver: string,
): VolumeParts {
  const reference = {
    'openstorage.io/auth-secret-name': t.name('px'),
    'openstorage.io/auth-secret-namespace': 'default',
  }
  const all = { [MIGRATED_TO]: driver, ...annotations, ...(needed && reference) }
  return { ...spec, csi: null, metadata: { labels, annotations: all } }
}

function capabilityOf({ fsType, mode = 'SINGLE_NODE_WRITER' }: InTreeVolume): object {
  return { mount: fsType === undefined ? {} : { fs_type: fsType }, access_mode: { mode } }
}

async function secretOf(t: TestContext, { volumes }: Plugin): Promise<Readonly<Record<string, string>> | undefined> {
  if (!volumes.some((each) => each.secret === true)) return undefined
  const data = { token: 'secret' }
  await t.create(SECRETS, secret('default', t.name('px'), data))
  return data
}

for (const plugin of PLUGINS) {
  attacher(`${plugin.name}: translated for the call, never written back`, async (t) => {
    const driver = await t.driver({ name: plugin.driver, controller: ['PUBLISH_UNPUBLISH_VOLUME', 'PUBLISH_READONLY'] })
    const secrets = await secretOf(t, plugin)
    const node = t.name('node')
    await t.create(CSI_NODES, csiNode(node, { [plugin.driver]: `${node}-id` }))
    const sidecar = await t.sidecar({ driver })
    await t.watching(sidecar, 'volumeattachments', 'persistentvolumes', 'csinodes')
    for (const [index, each] of plugin.volumes.entries()) {
      const pv = t.name(`pv-${index}`)
      const va = t.name(`va-${index}`)
      const made = await t.create(PERSISTENT_VOLUMES, volume(pv, plugin.driver, inTree(t, each, plugin.driver)))
      await t.create(VOLUME_ATTACHMENTS, attachment(va, plugin.driver, { pv, node }))
      await attached(t, va)
      const handle = each.handle(pv)
      const call = volumeCalls(driver).find(({ request }) => request['volume_id'] === handle)
      equal(call?.request, {
        volume_id: handle,
        node_id: `${node}-id`,
        volume_capability: capabilityOf(each),
        ...(each.readOnly === true && { readonly: true }),
        ...(secrets !== undefined && { secrets }),
        ...(each.context !== undefined && { volume_context: each.context }),
      })
      const now = await t.api.get(PERSISTENT_VOLUMES, { name: pv })
      equal(now.spec, made.spec)
      equal(now.metadata?.finalizers, [finalizerOf(plugin.driver)])
      await t.api.delete(VOLUME_ATTACHMENTS, { name: va })
      await t.api.untilGone(VOLUME_ATTACHMENTS, { name: va })
      const last = driver.callsOf('ControllerUnpublishVolume').at(-1)
      equal(last?.request['volume_id'], handle)
    }
    const metrics = await sidecar.metrics()
    const publish = '/csi.v1.Controller/ControllerPublishVolume'
    ok((metrics.value(CSI, { method_name: publish, migrated: 'true' }) ?? 0) >= plugin.volumes.length)
    equal(metrics.value(CSI, { method_name: publish, migrated: 'false' }), undefined)
    equal(
      metrics.samples.filter(({ labels }) => labels['driver_name'] === 'unknown-driver'),
      [],
    )
  })

  resizer(`${plugin.name}: translated for the call, the in-tree volume gets the size`, async (t) => {
    const driver = await t.driver({ name: plugin.driver, controller: ['EXPAND_VOLUME'] })
    const secrets = await secretOf(t, plugin)
    const at = await scene(t, { driver })
    for (const [index, each] of plugin.volumes.entries()) {
      const suffix = `-${index}`
      const accessModes = each.spec.accessModes ?? ['ReadWriteOnce']
      const claim = { accessModes, metadata: { annotations: { [RESIZER]: plugin.driver } } }
      const { pv, pvc } = await bound(t, { suffix, claim, pv: inTree(t, each, plugin.driver) })
      await ask(t, '2Gi', pvc)
      await resized(t, '2Gi', pvc)
      const call = expands(at).find(({ request }) => request['volume_id'] === each.handle(pv))
      equal(call?.request, {
        volume_id: each.handle(pv),
        capacity_range: { required_bytes: String(2 * GI) },
        volume_capability: capabilityOf(each),
        ...(secrets !== undefined && { secrets }),
      })
      const now = await getVolume(t, pv)
      equal(now.spec?.capacity, { storage: '2Gi' })
      equal(now.spec?.csi, undefined)
    }
    const metrics = await at.resizer.metrics()
    const expand = '/csi.v1.Controller/ControllerExpandVolume'
    ok((metrics.value(CSI, { method_name: expand, migrated: 'true' }) ?? 0) >= 1)
    ok((metrics.value(CSI, { method_name: '/csi.v1.Identity/Probe', migrated: 'false' }) ?? 0) >= 1)
    equal(
      metrics.samples.filter(({ labels }) => labels['driver_name'] === 'unknown-driver'),
      [],
    )
  })
}

// Alone, since the driver's name is that of other tests.
attacher('a volume id of 80,000 slashes fails alone and costs little time', { alone: true }, async (t) => {
  const name = 'ebs.csi.aws.com'
  const driver = await t.driver({ name, controller: ['PUBLISH_UNPUBLISH_VOLUME'] })
  const node = t.name('node')
  await t.create(CSI_NODES, csiNode(node, { [name]: `${node}-id` }))
  const sidecar = await t.sidecar({ driver })
  await t.watching(sidecar, 'volumeattachments', 'persistentvolumes', 'csinodes')
  for (const [suffix, volumeID] of [
    ['bad', `aws://z/vol-1${'/'.repeat(80_000)}x`],
    ['good', 'aws://z/vol-2'],
  ] as const) {
    const source = { spec: { awsElasticBlockStore: { volumeID } }, what: '', handle: () => '' }
    await t.create(PERSISTENT_VOLUMES, volume(t.name(suffix), name, inTree(t, source, name)))
    await t.create(VOLUME_ATTACHMENTS, attachment(t.name(suffix), name, { pv: t.name(suffix), node }))
  }
  await attached(t, t.name('good'))
  // The originals do not shorten the message, and the server refuses it.
  if (t.ours) await attachFailed(t, 'Invalid format for AWS volume', t.name('bad'))
  equal((await sidecar.http(t.ours ? '/livez' : '/metrics')).code, 200)
  const cpuSeconds = (await sidecar.metrics()).value('process_cpu_seconds_total') ?? Infinity
  ok(cpuSeconds < 4, `${cpuSeconds} s of CPU`)
})

attacher('start: a second connection; Probe and GetPluginInfo as in the originals', async (t) => {
  const driver = await t.driver({ name: 'cinder.csi.openstack.org', controller: ['PUBLISH_UNPUBLISH_VOLUME'] })
  const sidecar = await t.sidecar({ driver })
  await t.watching(sidecar, 'volumeattachments')
  const seen = driver.calls.map(({ method }) => method)
  equal(seen, ['Probe', 'GetPluginInfo', 'Probe', 'GetPluginCapabilities', 'ControllerGetCapabilities'])
})

attacher('a source that cannot be translated is an attach error, and blocks no other attachment', async (t) => {
  const name = 'disk.csi.azure.com'
  const driver = await t.driver({ name, controller: ['PUBLISH_UNPUBLISH_VOLUME'] })
  const node = t.name('node')
  await t.create(CSI_NODES, csiNode(node, { [name]: `${node}-id` }))
  const sidecar = await t.sidecar({ driver })
  await t.watching(sidecar, 'volumeattachments', 'persistentvolumes', 'csinodes')
  const azureDisk = { diskName: 'd', diskURI: 'https://a.blob.core.windows.net/c/d.vhd', kind: 'Dedicated' }
  await t.create(PERSISTENT_VOLUMES, volume(t.name('pv'), name, { csi: null, azureDisk }))
  await t.create(VOLUME_ATTACHMENTS, attachment(t.name('va'), name, { pv: t.name('pv'), node }))
  // Until the volume is in the cache, the error is that it is missing.
  const text = 'failed to translate in tree pv to CSI: kind(Dedicated) is not supported in csi migration'
  const { status, metadata } = await attachFailed(t, text)
  equal(status?.attachError?.message, text)
  equal(metadata?.finalizers, undefined)
  equal(volumeCalls(driver), [])
  const finalizers = [finalizerOf(name)]
  equal((await t.api.get(PERSISTENT_VOLUMES, { name: t.name('pv') })).metadata?.finalizers, finalizers)
})

attacher('migration switched off releases the volume', { alone: true }, async (t) => {
  const name = 'csi.vsphere.vmware.com'
  const driver = await t.driver({ name, controller: ['PUBLISH_UNPUBLISH_VOLUME'] })
  const sidecar = await t.sidecar({ driver })
  await t.watching(sidecar, 'volumeattachments', 'persistentvolumes', 'csinodes')
  const pv = t.name('pv')
  const metadata = { finalizers: ['example.com/a', finalizerOf(name)], annotations: { [MIGRATED_TO]: name } }
  await t.create(PERSISTENT_VOLUMES, volume(pv, name, { csi: null, vsphereVolume: { volumePath: 'p' }, metadata }))
  await pause(500)
  equal((await sidecar.gate.settledWrites()).length, 0)
  await t.api.merge(PERSISTENT_VOLUMES, { name: pv }, { metadata: { annotations: { [MIGRATED_TO]: null } } })
  const back = await t.api.until(PERSISTENT_VOLUMES, { name: pv }, (now) => now.metadata?.finalizers?.length === 1)
  equal(back.metadata?.finalizers, ['example.com/a'])
})

attacher('inline volumes arrive translated and count as not migrated', async (t) => {
  const name = 'file.csi.azure.com'
  const driver = await t.driver({ name, controller: ['PUBLISH_UNPUBLISH_VOLUME'] })
  const node = t.name('node')
  await t.create(CSI_NODES, csiNode(node, { [name]: `${node}-id` }))
  const sidecar = await t.sidecar({ driver })
  await t.watching(sidecar, 'volumeattachments', 'persistentvolumes', 'csinodes')
  const inlineVolumeSpec = { accessModes: ['ReadWriteMany'], csi: { driver: name, volumeHandle: '#a#s#v#ns' } }
  await t.create(VOLUME_ATTACHMENTS, attachment(t.name('va'), name, { node, source: { inlineVolumeSpec } }))
  await attached(t)
  const method_name = '/csi.v1.Controller/ControllerPublishVolume'
  ok(((await sidecar.metrics()).value(CSI, { method_name, migrated: 'false' }) ?? 0) >= 1)
})

attacher('the comparison looks for the repaired handle', async (t) => {
  const name = 'pd.csi.storage.gke.io'
  const driver = await t.driver({
    name,
    controller: ['PUBLISH_UNPUBLISH_VOLUME', 'LIST_VOLUMES', 'LIST_VOLUMES_PUBLISHED_NODES'],
  })
  const node = t.name('node')
  const nodeId = 'projects/p1/zones/us-east1-b/instances/i1'
  await t.create(CSI_NODES, csiNode(node, { [name]: nodeId }))
  const volumeId = 'projects/p1/zones/us-east1-b/disks/disk-x'
  const listed = { volume: { volumeId, capacityBytes: 0n, volumeContext: {}, accessibleTopology: [] } }
  driver.on('ListVolumes', { reply: { entries: [{ ...listed, status: { publishedNodeIds: [nodeId] } }] } })
  const args = ['--reconcile-sync=300ms', ...(t.ours ? ['--reconcile-confirmations=1'] : [])]
  const sidecar = await t.sidecar({ driver, args })
  await t.watching(sidecar, 'volumeattachments', 'persistentvolumes', 'csinodes')
  const source = {
    gcePersistentDisk: { pdName: 'disk-x' },
    csi: null,
    metadata: { annotations: { [MIGRATED_TO]: name } },
  }
  await t.create(PERSISTENT_VOLUMES, volume(t.name('pv'), name, source))
  await t.create(VOLUME_ATTACHMENTS, attachment(t.name('va'), name, { pv: t.name('pv'), node }))
  await attached(t)
  await pause(500)
  const before = volumeCalls(driver).length
  await pause(1500)
  equal(volumeCalls(driver).length, before)
  equal(volumeCalls(driver)[0]?.request['volume_id'], 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk-x')
})

resizer('a claim is processed once it is annotated for us', async (t) => {
  const name = 'cinder.csi.openstack.org'
  const driver = await t.driver({ name, controller: ['EXPAND_VOLUME'] })
  const at = await scene(t, { driver })
  const { pvc } = await bound(t, { pv: { csi: null, cinder: { volumeID: 'late' } } })
  await ask(t, '2Gi')
  await pause(700)
  equal(expands(at), [])
  const body = { metadata: { annotations: { [RESIZER]: name } } }
  await t.api.merge(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: pvc }, body)
  await resized(t, '2Gi')
})

resizer('a source that cannot be translated: the event says so', async (t) => {
  const name = 'disk.csi.azure.com'
  const driver = await t.driver({ name, controller: ['EXPAND_VOLUME'] })
  const at = await scene(t, { driver })
  const azureDisk = { diskName: 'd', diskURI: 'https://a.blob.core.windows.net/c/d.vhd', kind: 'Dedicated' }
  await bound(t, { pv: { csi: null, azureDisk }, claim: { metadata: { annotations: { [RESIZER]: name } } } })
  await ask(t, '2Gi')
  equal(
    await untilEvent(t, 'VolumeResizeFailed'),
    `Warning VolumeResizeFailed resize volume "${t.name('pv')}" by resizer "${name}" failed: failed to translate persistent volume: kind(Dedicated) is not supported in csi migration`,
  )
  await eventually('no call', () => expands(at).length === 0)
})
