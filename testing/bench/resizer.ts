import { setTimeout as sleep } from 'node:timers/promises'
import { EVENTS, type KubeObject, PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { bound, type Cluster, pod, storageClass } from '@csi-sidecars/testkit'
import { costOf } from './process-cost.ts'
import { table } from './report.ts'
import { atWork, benchIdle, benchLoaded, until, withSidecar } from './sidecar.ts'

/** The resizer on the emulator: idle, with many objects, and under a storm. */
export async function benchResizer(): Promise<void> {
  await benchIdle('resizer')
  await benchLoaded({ app: 'resizer', objects: manyObjects(20_000) }, '20,000 PVs, PVCs and pods')
  await storm()
  await unusedFlips()
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

function boundClaims(count: number): KubeObject[] {
  const sets = Array.from({ length: count }, (_, number) => bound({ number }))
  return [storageClass(), ...sets.flatMap(({ claim, volume }) => [claim, volume])]
}

async function storm(count = 1000): Promise<void> {
  await withSidecar({ app: 'resizer', objects: boundClaims(count) }, async (running) => {
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

/** Kubernetes 1.37 says of each claim whether a pod uses it, by a condition that neither the resizer nor another client reads here. */
async function unusedFlips(claims = 1000, rounds = 10): Promise<void> {
  await withSidecar({ app: 'resizer', objects: boundClaims(claims) }, async (running) => {
    const { cluster, sidecar } = running
    const { api, driver } = cluster
    await atWork('resizer', running)
    await sleep(5000)
    api.requests.clear()
    const calls = driver.calls.length
    const before = costOf(sidecar.pid)
    for (let round = 0; round < rounds; round += 1) {
      for (let i = 0; i < claims; i += 1) flipUnused(api, `pvc-${i}`, round % 2 === 0)
      await sleep(1000)
    }
    await sleep(5000)
    const after = costOf(sidecar.pid)
    const kept = api
      .list(PERSISTENT_VOLUME_CLAIMS)
      .filter(({ status }) => status?.conditions?.some(({ type }) => type === 'Unused'))
    table(`resizer, ${claims * rounds} flips of the condition Unused on ${claims} claims`, {
      'driver calls': driver.calls.length - calls,
      writes: api.requests.writes.filter(({ resource }) => resource !== 'leases').length,
      'conditions lost': claims - kept.length,
      'CPU (s)': after.cpuSeconds - before.cpuSeconds,
      'RSS before (MiB)': before.rss,
      'RSS after (MiB)': after.rss,
      'peak (MiB)': after.peak,
    })
  })
}

function flipUnused(api: Cluster['api'], name: string, unused: boolean): void {
  const [status, reason] = unused ? ['True', 'NoPodsUsingPVC'] : ['False', 'PodUsingPVC']
  const condition = { type: 'Unused', status, reason, lastTransitionTime: new Date().toISOString() }
  api.update(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name }, (claim) => ({
    ...claim,
    status: { ...claim.status, conditions: [condition] },
  }))
}
