import type { NodeGetInfoResponse } from '@csi-sidecars/csi-proto'
import type { Zone } from '../chaos/action.ts'

/** Nodes that the driver says are in the same place, by their names in the cluster; none where one says nothing. */
export function zonesOf(nodes: readonly NodeGetInfoResponse[]): readonly Zone[] {
  const zones = new Map<string, { nodes: string[]; segments: Readonly<Record<string, string>> }>()
  for (const [index, { accessibleTopology }] of nodes.entries()) {
    const segments = accessibleTopology?.segments ?? {}
    const entries = Object.entries(segments).sort(([a], [b]) => (a < b ? -1 : 1))
    if (entries.length === 0) return []
    const key = JSON.stringify(entries)
    const zone = zones.get(key) ?? { nodes: [], segments }
    zone.nodes.push(`node-${index + 1}`)
    zones.set(key, zone)
  }
  return [...zones.values()]
}
