import { NODES, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { claimOf, inDefault, isRunning, podOf, podWith, startTestCluster } from '../../src/testing/cluster.ts'

const isPlaced = (pod: { spec?: { nodeName?: string | undefined } | undefined }): boolean =>
  pod.spec?.nodeName !== undefined

/** The changed fields of a pod's spec, for a pod without volumes. */
const bare = { volumes: [], containers: [{ name: 'main', image: 'none' }] }

describe('the binder', () => {
  it('the binder selects a node for the volume of a WaitForFirstConsumer claim, and places the pod', async () => {
    await using test = await startTestCluster({ storageClass: { volumeBindingMode: 'WaitForFirstConsumer' } })
    const { client } = test.cluster
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
    expect(test.api.list(PERSISTENT_VOLUMES)).toEqual([])
    await client.create(
      PODS,
      podWith({ nodeSelector: { 'kubernetes.io/hostname': 'node-2' } }, ['app', undefined, 'data']),
    )
    const pod = await test.until(PODS, inDefault('app'), isRunning)
    expect(pod.spec?.nodeName).toBe('node-2')
    expect(pod.status?.conditions).toContainEqual(expect.objectContaining({ type: 'PodScheduled', status: 'True' }))
    const claim = test.api.get(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))
    expect(claim?.metadata?.annotations).toMatchObject({ 'volume.kubernetes.io/selected-node': 'node-2' })
  })

  it('the binder places a pod with an immediately binding claim only after the claim is bound', async () => {
    await using test = await startTestCluster({ substitutes: [], controllers: ['persistent-volume', 'binder'] })
    const { client, caches } = test.cluster
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data', { spec: { storageClassName: '' } }))
    await test.untilCached(caches.claims, 'default/data', () => true)
    await client.create(PODS, podOf('app', undefined, 'data'))
    await test.api.requests.until({ verb: 'create', resource: 'events' })
    expect(test.api.get(PODS, inDefault('app'))?.spec?.nodeName).toBeUndefined()
    await client.create(PERSISTENT_VOLUMES, {
      metadata: { name: 'pv-1' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '1Gi' },
        csi: { driver: 'csi.example.com', volumeHandle: 'handle-1' },
      },
    })
    await test.until(PODS, inDefault('app'), isPlaced)
  })

  it('the binder reserves an existing volume for the claim of the pod that it places', async () => {
    await using test = await startTestCluster({
      substitutes: [],
      controllers: ['persistent-volume', 'binder'],
      storageClass: { volumeBindingMode: 'WaitForFirstConsumer', provisioner: 'kubernetes.io/no-provisioner' },
    })
    const { client } = test.cluster
    const onNode2 = { key: 'kubernetes.io/hostname', operator: 'In', values: ['node-2'] }
    await client.create(PERSISTENT_VOLUMES, {
      metadata: { name: 'local-2' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '1Gi' },
        storageClassName: 'fast',
        local: { path: '/mnt/disk' },
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [onNode2] }] } },
      },
    })
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
    await client.create(PODS, podOf('app', undefined, 'data'))
    const pod = await test.until(PODS, inDefault('app'), isPlaced)
    expect(pod.spec?.nodeName).toBe('node-2')
    expect(test.api.get(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))?.spec?.volumeName).toBe('local-2')
  })

  it('the binder ignores a pod that names another scheduler', async () => {
    await using test = await startTestCluster({ substitutes: [], controllers: ['binder'] })
    const { client } = test.cluster
    await client.create(PODS, podWith({ ...bare, schedulerName: 'another' }, ['theirs', undefined, 'data']))
    await client.create(PODS, podWith(bare, ['ours', undefined, 'data']))
    await test.until(PODS, inDefault('ours'), isPlaced)
    expect(test.api.get(PODS, inDefault('theirs'))?.spec?.nodeName).toBeUndefined()
  })

  it('the binder places a pod that fits on no node as soon as a node becomes schedulable', async () => {
    await using test = await startTestCluster({ nodes: 1, substitutes: [], controllers: ['binder'] })
    test.api.update(NODES, { name: 'node-1' }, (node) => ({ ...node, spec: { ...node.spec, unschedulable: true } }))
    await test.untilCached(test.cluster.caches.nodes, 'node-1', ({ unschedulable }) => unschedulable)
    await test.cluster.client.create(PODS, podWith(bare, ['app', undefined, 'data']))
    await test.api.requests.until({ verb: 'create', resource: 'events' })
    expect(test.events('app')).toEqual(['FailedScheduling: 0/1 nodes are available: 1 node(s) were unschedulable.'])
    test.api.update(NODES, { name: 'node-1' }, (node) => ({ ...node, spec: { ...node.spec, unschedulable: false } }))
    await test.until(PODS, inDefault('app'), isPlaced)
  })
})
