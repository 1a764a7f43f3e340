import { setTimeout as sleep } from 'node:timers/promises'
import { EVENTS, type KubeObject, PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { bound, pod, storageClass } from '@csi-sidecars/testkit'
import { costOf } from './process-cost.ts'
import { table } from './report.ts'
import { atWork, benchIdle, benchLoaded, until, withSidecar } from './sidecar.ts'

/** The resizer on the emulator: idle, with many objects, and under a storm. */
export async function benchResizer(): Promise<void> {
  await benchIdle('resizer')
  await benchLoaded({ app: 'resizer', objects: manyObjects(20_000) }, '20,000 PVs, PVCs and pods')
  await storm()
}

function manyObjects(count: number): KubeObject[] {
  const objects: KubeObject[] = [storageClass()]
  for (let i = 0; i < count; i += 1) {
    const { claim, volume } = bound({ number: i })
    objects.push(claim, volume, pod(`pod-${i}`, { spec: podOf(`pvc-${i}`) }))
  }
  return objects
}

function podOf(claimName: string) {
  return { volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }] }
}

async function storm(count = 1000): Promise<void> {
  const objects = Array.from({ length: count }, (_, number) => bound({ number })).flatMap(({ claim, volume }) => [
    claim,
    volume,
  ])
  await withSidecar({ app: 'resizer', objects: [storageClass(), ...objects] }, async (running) => {
    const { cluster, sidecar } = running
    const { api, driver } = cluster
    driver.settings.nodeExpansion = false
    await atWork('resizer', running)
    await sleep(1000)
    api.requests.clear()
    const before = costOf(sidecar.pid)
    const started = performance.now()
    for (let i = 0; i < count; i += 1) {
      api.update(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: `pvc-${i}` }, (claim) => ({
        ...claim,
        spec: { ...claim.spec, resources: { requests: { storage: '2Gi' } } },
      }))
    }
    const resized = (): number =>
      api.list(PERSISTENT_VOLUME_CLAIMS).filter(({ status }) => status?.capacity?.['storage'] === '2Gi').length
    await until(() => resized() === count)
    const seconds = (performance.now() - started) / 1000
    const after = costOf(sidecar.pid)
    await sleep(5000)
    const writes = api.requests.writes.filter(({ resource }) => resource !== 'events')
    table(`resizer, ${count} claims raised at once, flags unset`, {
      'resized (s)': seconds,
      'CPU per 1,000 (s)': ((after.cpuSeconds - before.cpuSeconds) * 1000) / count,
      'writes per claim': writes.length / count,
      'conflicts per claim': writes.filter(({ code }) => code === 409).length / count,
      'events per claim':
        api.list(EVENTS).filter(({ involvedObject }) => involvedObject.kind !== 'Lease').length / count,
      'peak (MiB)': after.peak,
    })
  })
}
