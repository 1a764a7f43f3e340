import type { Driver } from '@csi-sidecars/csi'
import { NodeServiceCapability_RPC_Type as NodeRpc } from '@csi-sidecars/csi-proto'
import { type OwnNode, OwnNodes } from '../driver/nodes.ts'

export const FOLDER = '/data/seed-1'

/** Returns node services with these node IDs. `overrides.call` replaces their calls. */
export function ownNodes(ids: readonly string[], overrides: Partial<Pick<Driver, 'call'>> = {}): OwnNodes {
  const node: ReadonlySet<NodeRpc> = new Set([NodeRpc.GET_VOLUME_STATS])
  const driver = { name: 'csi.example.com', capabilities: { node }, ...overrides } as Driver
  const all = ids.map((nodeId): OwnNode => {
    const info = { nodeId, maxVolumesPerNode: 0n, accessibleTopology: undefined }
    return { address: `unix:///${nodeId}.sock`, driver, info }
  })
  return new OwnNodes(all, FOLDER)
}
