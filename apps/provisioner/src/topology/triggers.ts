import type { Cause, Source } from '@csi-sidecars/controller'
import { causesOf } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import type { CachedNode, Registration } from '../caches/cluster.ts'
import type { TopologyCaches } from '../caches/open.ts'

/** Claims wait for their node, or for any node. Most updates of nodes change no topology. */
export function causesOfTopology({ nodes, registrations }: TopologyCaches): readonly Source[] {
  return [
    causesOf(nodes, (event) => (changesLabels(event) ? causes(event) : [])),
    causesOf(registrations, (event) => (changesKeys(event) ? causes(event) : [])),
  ]
}

export function changesLabels(event: InformerEvent<CachedNode>): boolean {
  if (event.type !== 'updated') return true
  const [before, after] = [event.before.labels, event.after.labels]
  const keys = Object.keys(after)
  return keys.length !== Object.keys(before).length || keys.some((key) => before[key] !== after[key])
}

export function changesKeys(event: InformerEvent<Registration>): boolean {
  if (event.type !== 'updated') return true
  return event.before.topologyKeys?.join() !== event.after.topologyKeys?.join()
}

function causes(event: InformerEvent<CachedNode | Registration>): readonly Cause[] {
  const { key: name } = event.type === 'updated' ? event.after : event.object
  return [{ on: 'node', name }, { on: 'nodes' }]
}
