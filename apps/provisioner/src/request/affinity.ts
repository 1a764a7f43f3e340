import type { Topology } from '@csi-sidecars/csi-proto'
import type { NodeSelectorTerm, PersistentVolumeSpec } from '@csi-sidecars/kube-types'

type Affinity = Pick<PersistentVolumeSpec, 'nodeAffinity'>

/** The nodes that can reach the volume. Topologies without segments are skipped, because the API refuses empty terms. */
export function affinityOf(topologies: readonly Topology[]): Affinity {
  const nodeSelectorTerms = topologies.map(termOf).filter((term) => term !== undefined)
  return nodeSelectorTerms.length === 0 ? {} : { nodeAffinity: { required: { nodeSelectorTerms } } }
}

function termOf({ segments }: Topology): NodeSelectorTerm | undefined {
  const pairs = Object.entries(segments)
  if (pairs.length === 0) return undefined
  return { matchExpressions: pairs.map(([key, value]) => ({ key, operator: 'In', values: [value] })) }
}
