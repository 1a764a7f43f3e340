import { systemClock } from '@csi-sidecars/base'
import { CSI_STORAGE_CAPACITIES, type CSIStorageCapacity, NODES, STORAGE_CLASSES } from '@csi-sidecars/kube-types'
import { type Cluster, csiNode, DRIVER, startCluster, storageClass } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { whileProvisioning } from '../src/testing/run-provisioner.ts'

const ENV = { NAMESPACE: 'default' }
const FLAGS = ['--enable-capacity', '--capacity-ownerref-level=-1']
const LATE = storageClass('late', { volumeBindingMode: 'WaitForFirstConsumer', parameters: { kind: 'ssd' } })

function node(name: string, zone: string) {
  return [
    { apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { zone } } },
    csiNode(name, { spec: { drivers: [{ name: DRIVER, nodeID: name, topologyKeys: ['zone'] }] } }),
  ]
}

const objectsOf = ({ api }: Cluster): readonly CSIStorageCapacity[] => api.list(CSI_STORAGE_CAPACITIES)

/** Waits until the CSIStorageCapacity objects have these classes, topologies and capacities. */
async function published(cluster: Cluster, expected: readonly string[]): Promise<void> {
  const publishedNow = (): string[] =>
    objectsOf(cluster)
      .map(({ storageClassName, nodeTopology, capacity }) => {
        return `${storageClassName} ${Object.values(nodeTopology?.matchLabels ?? {}).join()} ${capacity}`
      })
      .sort()
  for (let left = 200; left > 0; left -= 1) {
    if (publishedNow().join() === expected.join()) return
    await systemClock.sleep(20)
  }
  expect(publishedNow()).toEqual(expected)
}

function answer(cluster: Cluster, bytes: bigint): void {
  cluster.driver.script('GetCapacity', () => ({ availableCapacity: bytes }))
}

describe('capacity', () => {
  it('the provisioner publishes one CSIStorageCapacity for each class and segment, and follows their changes', async () => {
    await using cluster = await startCluster({
      objects: [LATE, storageClass('soon'), ...node('a', 'z1'), ...node('b', 'z2')],
    })
    const { api, driver } = cluster
    answer(cluster, 1024n ** 3n)
    await whileProvisioning({ cluster, flags: FLAGS, env: ENV }, async () => {
      await published(cluster, ['late z1 1Gi', 'late z2 1Gi'])
      const asked = driver.calls.filter(({ method }) => method === 'GetCapacity')
      expect(asked).toHaveLength(2)
      expect(asked[0]?.request).toMatchObject({ parameters: { kind: 'ssd' }, volumeCapabilities: [] })
      api.edit(NODES, { name: 'b' }, { metadata: { labels: { zone: 'z3' } } })
      await published(cluster, ['late z1 1Gi', 'late z3 1Gi'])
      api.delete(CSI_STORAGE_CAPACITIES, { namespace: 'default', name: objectsOf(cluster)[0]?.metadata?.name ?? '' })
      await published(cluster, ['late z1 1Gi', 'late z3 1Gi'])
      api.delete(STORAGE_CLASSES, { name: 'late' })
      await published(cluster, [])
    })
  })

  it('the provisioner updates the CSIStorageCapacity of a driver without topology at the next poll', async () => {
    const drivers = [{ name: DRIVER, nodeID: 'a', topologyKeys: [] }]
    const plain = csiNode('a', { spec: { drivers } })
    await using cluster = await startCluster({
      objects: [LATE, plain, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } }],
    })
    answer(cluster, 1000n)
    await whileProvisioning({ cluster, flags: [...FLAGS, '--capacity-poll-interval=200ms'], env: ENV }, async () => {
      await published(cluster, ['late  1k'])
      const [first] = objectsOf(cluster)
      answer(cluster, 2048n)
      await published(cluster, ['late  2Ki'])
      expect(objectsOf(cluster)[0]?.metadata?.uid).toBe(first?.metadata?.uid)
    })
  })

  it('the provisioner removes CSIStorageCapacity objects of earlier processes, but not those of other managers', async () => {
    const labels = { 'csi.storage.k8s.io/drivername': DRIVER, 'csi.storage.k8s.io/managed-by': 'external-provisioner' }
    const left = (name: string, managed: Record<string, string>, className = 'gone') => ({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSIStorageCapacity',
      metadata: { namespace: 'default', name, labels: managed },
      storageClassName: className,
      nodeTopology: { matchLabels: { zone: 'z1' } },
      capacity: '5Gi',
    })
    const foreign = { ...labels, 'csi.storage.k8s.io/managed-by': 'other' }
    const objects = [
      LATE,
      ...node('a', 'z1'),
      left('left', labels),
      left('kept', labels, 'late'),
      left('twice', labels, 'late'),
      left('foreign', foreign),
    ]
    await using cluster = await startCluster({ objects })
    answer(cluster, 1024n ** 3n)
    await whileProvisioning({ cluster, flags: FLAGS, env: ENV }, async () => {
      await published(cluster, ['gone z1 5Gi', 'late z1 1Gi'])
    })
    const reads = cluster.api.requests.entries.filter(({ resource, method }) => {
      return resource === 'csistoragecapacities' && method === 'GET'
    })
    const selector = Object.entries(labels).map((label) => label.join('='))
    expect([...new Set(reads.map(({ query }) => query['labelSelector']))]).toEqual([selector.join()])
  })

  it('the provisioner sends one GetCapacity call for each of two classes on each of 200 nodes', async () => {
    const more = storageClass('more', { volumeBindingMode: 'WaitForFirstConsumer' })
    const nodes = Array.from({ length: 200 }, (_, index) => node(`node-${index}`, `z${index}`)).flat()
    await using cluster = await startCluster({ objects: [LATE, more, ...nodes] })
    answer(cluster, 1024n ** 3n)
    const flags = [...FLAGS, '--capacity-poll-interval=1h']
    await whileProvisioning({ cluster, flags, env: ENV }, async () => {
      while (objectsOf(cluster).length < 400) await systemClock.sleep(100)
      await systemClock.sleep(300)
    })
    expect(cluster.driver.calls.filter(({ method }) => method === 'GetCapacity')).toHaveLength(400)
    expect(objectsOf(cluster)).toHaveLength(400)
  }, 60_000)

  it.each([
    ['need NAMESPACE env variable for CSIStorageCapacity objects', {}],
    ['need POD_NAME env variable to determine CSIStorageCapacity owner', ENV],
    ['look up owner(s) of pod: get object: ', { ...ENV, POD_NAME: 'none' }],
  ])('the provisioner with --enable-capacity refuses to start: %s', async (message, env) => {
    await using cluster = await startCluster()
    const run = whileProvisioning({ cluster, flags: ['--enable-capacity'], env }, () => new Promise(() => {}))
    await expect(run).rejects.toThrow(message)
  })
})
