import { CSI_NODES, NODES } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { startTestCluster } from '../testing/cluster.ts'
import { nodeIds } from './register.ts'

describe('nodeIds', () => {
  it('if the driver uses the node name as the node ID, the ID of every node is its name', () => {
    expect(nodeIds(['node-1', 'node-2'], 'node-1')).toEqual(['node-1', 'node-2'])
  })

  it("if the driver's node ID is not a node name, the other nodes get this ID with a number appended", () => {
    expect(nodeIds(['node-1', 'node-2', 'node-3'], 'i-0abc')).toEqual(['i-0abc', 'i-0abc-2', 'i-0abc-3'])
  })
})

describe('registerNode', () => {
  it('a registered node gets the condition Ready, no taints, and the driver in its CSINode', async () => {
    await using test = await startTestCluster({ nodes: 1, controllers: [], substitutes: [] })
    const node = test.api.get(NODES, { name: 'node-1' })
    expect(node).toMatchObject({
      metadata: {
        labels: { 'kubernetes.io/hostname': 'node-1' },
        annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
      },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    })
    expect(node?.spec?.taints ?? []).toEqual([])
    expect(test.api.get(CSI_NODES, { name: 'node-1' })?.spec.drivers).toEqual([
      { name: 'csi.example.com', nodeID: 'node-1', topologyKeys: null },
    ])
  })
})
