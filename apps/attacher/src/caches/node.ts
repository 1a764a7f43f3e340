import type { Cached } from '@csi-sidecars/informer'
import type { CSINode } from '@csi-sidecars/kube-types'
import { text } from './fields.ts'

/** The cached fields of a CSINode. `nodeId` is undefined if this driver does not run on the node. */
export interface CachedDriverNode extends Cached {
  readonly nodeId: string | undefined
}

export function nodeProjection(driverName: string): (node: CSINode) => CachedDriverNode {
  return (node) => ({
    key: node.metadata?.name ?? '',
    resourceVersion: node.metadata?.resourceVersion ?? '',
    uid: node.metadata?.uid ?? '',
    nodeId: nodeIdOf(node.spec?.drivers, driverName),
  })
}

function nodeIdOf(drivers: unknown, driverName: string): string | undefined {
  if (!Array.isArray(drivers)) return undefined
  return text(drivers.find((driver) => driver?.name === driverName)?.nodeID)
}
