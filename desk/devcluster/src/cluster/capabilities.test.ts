import {
  CSI_NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
  PODS,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { claimOf, inDefault, isRunning, podOf, startTestCluster, type TestCluster } from '../testing/cluster.ts'

const volumeCalls = ({ driver }: TestCluster): string[] =>
  driver.calls.flatMap(({ method, code }) => (/Volume$/.test(method) && code === 0 ? [method] : []))

/** Creates a claim and a pod that uses it, and deletes both when the pod runs. */
async function comeAndGo(test: TestCluster): Promise<void> {
  const { client } = test.cluster
  await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
  await client.create(PODS, podOf('app', 'node-1', 'data'))
  await test.until(PODS, inDefault('app'), isRunning)
  await client.delete(PODS, inDefault('app'))
  await client.delete(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))
  await test.untilAll(PERSISTENT_VOLUMES, (volumes) => volumes.length === 0)
}

describe('the cluster', () => {
  it('if the driver does not support attach, pods start without an attach of their volumes', async () => {
    await using test = await startTestCluster({
      driver: { controller: ['CREATE_DELETE_VOLUME'] },
      substitutes: ['csi-provisioner'],
    })
    await comeAndGo(test)
    expect(test.api.requests.matching({ verb: 'create', resource: 'volumeattachments' })).toEqual([])
    expect(test.api.list(VOLUME_ATTACHMENTS)).toEqual([])
    const written = test.api.requests.matching({ verb: 'patch', resource: 'nodes' })
    expect(JSON.stringify(written.map(({ body }) => body))).not.toContain('kubernetes.io/csi')
    expect(volumeCalls(test)).toEqual([
      'CreateVolume',
      'NodeStageVolume',
      'NodePublishVolume',
      'NodeUnpublishVolume',
      'NodeUnstageVolume',
      'DeleteVolume',
    ])
  })

  it('if the driver does not support staging, the kubelet publishes volumes without a stage call', async () => {
    await using test = await startTestCluster({ driver: { node: [] } })
    await comeAndGo(test)
    expect(volumeCalls(test).filter((method) => method.startsWith('Node'))).toEqual([
      'NodePublishVolume',
      'NodeUnpublishVolume',
    ])
    const [publish] = test.driver.log.matching({ method: 'NodePublishVolume' })
    expect(publish?.request['stagingTargetPath']).toBe('')
  })

  it('the cluster expands claims without a node call if the driver does not expand on nodes', async () => {
    const driver = { nodeExpansion: false, node: ['STAGE_UNSTAGE_VOLUME' as const] }
    await using test = await startTestCluster({ driver })
    const { client } = test.cluster
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
    await client.create(PODS, podOf('app', 'node-1', 'data'))
    await test.until(PODS, inDefault('app'), isRunning)
    const grow = { kind: 'merge' as const, body: { spec: { resources: { requests: { storage: '2Gi' } } } } }
    await client.patch(PERSISTENT_VOLUME_CLAIMS, inDefault('data'), grow)
    const hasGrown = ({ status }: PersistentVolumeClaim): boolean => status?.capacity?.['storage'] === '2Gi'
    const claim = await test.until(PERSISTENT_VOLUME_CLAIMS, inDefault('data'), hasGrown)
    expect(claim.status?.allocatedResourceStatuses ?? {}).toEqual({})
    expect(volumeCalls(test)).not.toContain('NodeExpandVolume')
  })

  it("the cluster writes the driver's limit of volumes per node to each CSINode", async () => {
    await using test = await startTestCluster({ nodes: 1, driver: { maxVolumesPerNode: 2 } })
    const [csiNode] = test.api.list(CSI_NODES)
    expect(csiNode?.spec?.drivers).toMatchObject([{ name: 'csi.example.com', allocatable: { count: 2 } }])
  })
})
