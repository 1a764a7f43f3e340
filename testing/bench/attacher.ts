import { setTimeout as sleep } from 'node:timers/promises'
import { type KubeObject, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { csiNode, pv, va } from '@csi-sidecars/testkit'
import { costOf } from './process-cost.ts'
import { table } from './report.ts'
import { atWork, benchIdle, benchLoaded, until, withSidecar } from './sidecar.ts'

const CLAIMED = {
  finalizers: ['external-attacher/csi-example-com'],
  annotations: { 'csi.alpha.kubernetes.io/node-id': 'node-1-id' },
}
const OPENED = ['--kube-api-qps=1000', '--kube-api-burst=1000', '--worker-threads=100']

/** The attacher on the emulator: idle, with many objects, and under storms. */
export async function benchAttacher(): Promise<void> {
  await benchIdle('attacher')
  const objects = manyObjects(20_000)
  await benchLoaded({ app: 'attacher', objects }, '20,000 PVs and VAs, half of them foreign, 2,000 CSINodes')
  await storm('flags unset', [])
  await storm('with raised limits', OPENED)
  await starvation()
}

function manyObjects(count: number): KubeObject[] {
  const objects: KubeObject[] = Array.from({ length: 2000 }, (_, i) => csiNode(`node-${i}`))
  for (let i = 0; i < count; i += 1) {
    const foreign = i % 2 === 1
    const finalizers = ['kubernetes.io/pv-protection', ...CLAIMED.finalizers]
    objects.push(
      pv(`pv-${i}`, {
        metadata: { finalizers, annotations: { 'pv.kubernetes.io/provisioned-by': 'csi.example.com' } },
        spec: foreign ? { csi: { driver: 'other.example.com' } } : {},
      }),
      va(`csi-${i.toString(16).padStart(64, '0')}`, {
        metadata: CLAIMED,
        spec: {
          ...(foreign && { attacher: 'other.example.com' }),
          nodeName: `node-${i % 2000}`,
          source: { persistentVolumeName: `pv-${i}` },
        },
        status: { attached: true, attachmentMetadata: { devicePath: '/dev/disk/by-id/x' } },
      }),
    )
  }
  return objects
}

async function storm(title: string, args: readonly string[], count = 1000): Promise<void> {
  const volumes = Array.from({ length: count }, (_, i) => pv(`pv-${i}`))
  const nodes = Array.from({ length: 50 }, (_, i) => csiNode(`node-${i}`))
  await withSidecar({ app: 'attacher', args, objects: [...volumes, ...nodes] }, async (running) => {
    const { cluster, sidecar } = running
    const { api, driver } = cluster
    await atWork('attacher', running)
    await sleep(1000)
    const attach = await phase(running, () => {
      for (let i = 0; i < count; i += 1) {
        cluster.add(
          va(`va-${i}`, { spec: { nodeName: `node-${i % 50}`, source: { persistentVolumeName: `pv-${i}` } } }),
        )
      }
      return until(() => api.list(VOLUME_ATTACHMENTS).every(({ status }) => status?.attached === true))
    })
    const publishes = driver.calls.filter(({ method }) => method === 'ControllerPublishVolume').length
    const detach = await phase(running, () => {
      for (let i = 0; i < count; i += 1) api.delete(VOLUME_ATTACHMENTS, { name: `va-${i}` })
      return until(() => api.list(VOLUME_ATTACHMENTS).length === 0)
    })
    table(`attacher, attach and detach storm of ${count}, ${title}`, {
      'attached (s)': attach.seconds,
      'detached (s)': detach.seconds,
      'CPU per 1,000 attaches (s)': (attach.cpuSeconds * 1000) / count,
      'CPU per 1,000 detaches (s)': (detach.cpuSeconds * 1000) / count,
      'writes per attach': attach.writes / count,
      'writes per detach': detach.writes / count,
      'publishes per attach': publishes / count,
      'peak (MiB)': costOf(sidecar.pid).peak,
    })
  })
}

/** The cost of one part of a storm. */
async function phase({ cluster, sidecar }: Parameters<Parameters<typeof withSidecar>[1]>[0], run: () => Promise<void>) {
  cluster.api.requests.clear()
  const before = costOf(sidecar.pid)
  const started = performance.now()
  await run()
  const seconds = (performance.now() - started) / 1000
  const cpuSeconds = costOf(sidecar.pid).cpuSeconds - before.cpuSeconds
  return { seconds, cpuSeconds, writes: cluster.api.requests.writes.length }
}

async function starvation(detaches = 1000, attaches = 20): Promise<void> {
  const volumes = Array.from({ length: detaches + attaches }, (_, i) => pv(`pv-${i}`))
  const detaching = Array.from({ length: detaches }, (_, i) =>
    va(`old-${i}`, {
      metadata: { ...CLAIMED, deletionTimestamp: new Date().toISOString() },
      spec: { source: { persistentVolumeName: `pv-${i}` } },
      status: { attached: true },
    }),
  )
  await withSidecar({ app: 'attacher', objects: [...volumes, ...detaching, csiNode()] }, async (running) => {
    const { driver } = running.cluster
    driver.faults.add({ match: { method: 'ControllerUnpublishVolume' }, action: { do: 'delay', ms: 15_000 } })
    driver.faults.add({ match: { method: 'ControllerPublishVolume' }, action: { do: 'delay', ms: 100 } })
    await atWork('attacher', running)
    await driver.log.until({ method: 'ControllerUnpublishVolume' })
    await sleep(2000)
    const created = performance.now()
    const reached = driver.log.until({ method: 'ControllerPublishVolume' }, { count: attaches, timeoutMs: 60_000 })
    for (let i = detaches; i < detaches + attaches; i += 1) {
      running.cluster.add(va(`new-${i}`, { spec: { source: { persistentVolumeName: `pv-${i}` } } }))
    }
    await reached
    table(`attacher, ${attaches} attaches behind ${detaches} detaches that hang 15 s`, {
      'last attach at the driver after (s)': (performance.now() - created) / 1000,
    })
  })
}
