import {
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
  PODS,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import { describe, expect, it, jest } from '@jest/globals'
import { claimOf, inDefault, isRunning, podOf, podWith, startTestCluster } from '../testing/cluster.ts'

jest.setTimeout(20_000)

const sizeOf = (claim: PersistentVolumeClaim | undefined) => claim?.status?.capacity?.['storage']

describe('the cluster', () => {
  it('a volume is created, mounted, expanded, moved to another node and deleted, with the CSI calls in order', async () => {
    await using test = await startTestCluster()
    const { api, driver, cluster, until, untilAll } = test
    const { client } = cluster

    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
    await client.create(PODS, podOf('app-1', 'node-1', 'data'))
    await until(PODS, inDefault('app-1'), isRunning)
    const [pv] = api.list(PERSISTENT_VOLUMES)
    expect(pv).toMatchObject({
      status: { phase: 'Bound' },
      spec: { claimRef: { name: 'data' }, capacity: { storage: '1Gi' } },
    })

    const grow = { kind: 'merge' as const, body: { spec: { resources: { requests: { storage: '2Gi' } } } } }
    await client.patch(PERSISTENT_VOLUME_CLAIMS, inDefault('data'), grow)
    await until(PERSISTENT_VOLUME_CLAIMS, inDefault('data'), (claim) => sizeOf(claim) === '2Gi')

    await client.delete(PODS, inDefault('app-1'))
    await client.create(PODS, podOf('app-2', 'node-2', 'data'))
    await until(PODS, inDefault('app-2'), isRunning)

    await client.delete(PODS, inDefault('app-2'))
    await client.delete(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))
    await untilAll(PERSISTENT_VOLUMES, (volumes) => volumes.length === 0)

    const ours = driver.calls.filter(({ method, code }) => /Volume$/.test(method) && code === 0)
    expect(ours.map(({ method, request }) => [method, request['nodeId']].filter(Boolean).join(' '))).toEqual([
      'CreateVolume',
      'ControllerPublishVolume node-1',
      'NodeStageVolume',
      'NodePublishVolume',
      'ControllerExpandVolume',
      'NodeExpandVolume',
      'NodeUnpublishVolume',
      'NodeUnstageVolume',
      'ControllerUnpublishVolume node-1',
      'ControllerPublishVolume node-2',
      'NodeStageVolume',
      'NodePublishVolume',
      'NodeUnpublishVolume',
      'NodeUnstageVolume',
      'ControllerUnpublishVolume node-2',
      'DeleteVolume',
    ])
    expect([
      api.list(PODS),
      api.list(PERSISTENT_VOLUME_CLAIMS),
      api.list(VOLUME_ATTACHMENTS),
      driver.volumes.all,
    ]).toEqual([[], [], [], []])
    await untilAll(NODES, (nodes) =>
      nodes.every(({ status }) => (status?.volumesAttached ?? []).length + (status?.volumesInUse ?? []).length === 0),
    )
  })

  it('a pod gets a volume of the mode Block as a device', async () => {
    await using test = await startTestCluster({ nodes: 1 })
    const { client } = test.cluster
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('raw', { spec: { volumeMode: 'Block' } }))
    const containers = [{ name: 'main', image: 'none', volumeDevices: [{ name: 'data', devicePath: '/dev/x' }] }]
    await client.create(PODS, podWith({ containers }, ['app', 'node-1', 'raw']))
    await test.until(PODS, inDefault('app'), isRunning)
    const [publish] = test.driver.log.matching({ method: 'NodePublishVolume' })
    expect(publish?.request).toMatchObject({
      targetPath: expect.stringContaining('/volumeDevices/publish/pvc-'),
      volumeCapability: { accessType: { $case: 'block' } },
    })
    await client.delete(PODS, inDefault('app'))
    await test.untilGone(PODS, inDefault('app'))
    expect(test.driver.volumes.all[0]?.mounted.size).toBe(0)
  })

  it('a restart of all controllers causes no unnecessary CSI calls for a volume', async () => {
    await using test = await startTestCluster()
    const { client, controllers } = test.cluster
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
    await client.create(PODS, podOf('app', 'node-1', 'data'))
    await test.until(PODS, inDefault('app'), isRunning)
    const before = test.driver.calls.length
    for (const name of controllers.names) await controllers.restart(name)
    await client.delete(PODS, inDefault('app'))
    await test.untilAll(VOLUME_ATTACHMENTS, (attachments) => attachments.length === 0)
    const methods = test.driver.calls.slice(before).map(({ method }) => method)
    const after = methods.filter((method) => method.endsWith('Volume'))
    // A restarted kubelet does not know whether its last calls succeeded, and repeats them.
    expect(after).toEqual([
      'NodeStageVolume',
      'NodePublishVolume',
      'NodeUnpublishVolume',
      'NodeUnstageVolume',
      'ControllerUnpublishVolume',
    ])
  })
})
