import type { Informer } from '@csi-sidecars/informer'
import { isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { NODES, type Node } from '@csi-sidecars/kube-types'
import type { CachedNode } from '../caches/node.ts'
import { coalesced } from '../coalesce.ts'

export interface NodeStatusParts {
  readonly client: Pick<KubeClient, 'patch'>
  readonly nodes: Pick<Informer<CachedNode, Node>, 'learn' | 'store'>
}

/** Brings a node's status up to date; resolves when it says what was to be said when it was asked for. */
export type StatusWriter = (node: string, signal: AbortSignal) => Promise<void>

/** Writes `volumesAttached`, which tells the kubelet what it may use. A node that is gone needs to know nothing. */
export function attachedWriter(parts: NodeStatusParts, reportedOn: (node: string) => readonly string[]): StatusWriter {
  return coalesced(async (name, signal) => {
    const node = parts.nodes.store.get(name)
    if (node === undefined) return
    const names = reportedOn(name)
    const present = node.volumesAttached.map((volume) => volume.name)
    if (isSameSet(present, names)) return
    await patchStatus(parts, name, { volumesAttached: names.map((each) => ({ name: each, devicePath: '' })) }, signal)
  })
}

/** Writes `volumesInUse`, which tells the attach/detach controller what it must not take away. */
export function inUseWriter(parts: NodeStatusParts, inUseOn: (node: string) => readonly string[]): StatusWriter {
  return coalesced(async (name, signal) => {
    const node = parts.nodes.store.get(name)
    const names = inUseOn(name)
    if (node !== undefined && isSameSet(node.volumesInUse, names)) return
    await patchStatus(parts, name, { volumesInUse: names }, signal)
  })
}

async function patchStatus(
  { client, nodes }: NodeStatusParts,
  name: string,
  status: object,
  signal: AbortSignal,
): Promise<void> {
  try {
    const patch = { kind: 'merge' as const, body: { status } }
    nodes.learn(await client.patch(NODES, { name }, patch, { signal, subresource: 'status' }))
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && new Set([...a, ...b]).size === a.length
}
