import type { LocalNode } from '../node/local-node.ts'
import type { TopologyNodes } from './requirement.ts'

/** Returns a cluster of this node only, so that Nodes and CSINodes need not be read. */
export function topologyOfNode({ name, segments = {} }: LocalNode): TopologyNodes {
  const identity = { key: name, uid: name, resourceVersion: '' }
  return {
    nodes: new Map([[name, { ...identity, labels: segments }]]),
    registrations: new Map([[name, { ...identity, topologyKeys: Object.keys(segments) }]]),
  }
}
