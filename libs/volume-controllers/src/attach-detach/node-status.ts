import type { Informer } from '@csi-sidecars/informer'
import { isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { NODES, type Node } from '@csi-sidecars/kube-types'
import type { CachedNode } from '../caches/node.ts'
import { coalesced } from '../coalesce.ts'
import { except } from '../control.ts'

export interface NodeStatusParts {
  readonly client: Pick<KubeClient, 'patch'>
  readonly nodes: Pick<Informer<CachedNode, Node>, 'learn' | 'store'>
}

/** Whether a node's status names a volume; `perhaps`: a write of this process, or an earlier one, is not confirmed. */
export type Says = 'yes' | 'no' | 'perhaps'

/**
 * One list of volumes in the statuses of nodes, and their only writer. What the cache knows counts only while the last
 * write is known to have ended: the answer of a write that succeeded may be lost, and other components act upon the
 * write before the cache has it.
 */
export interface StatusList {
  /** Brings a node's list up to date; resolves when it has at least the content of the moment of this call. */
  write(node: string, signal: AbortSignal): Promise<void>
  says(node: string, volumeName: string): Says
}

/** `volumesAttached`, by which the kubelet knows what it may use. A node that is gone needs to know nothing. */
export function attachedList(parts: NodeStatusParts, reportedOn: (node: string) => readonly string[]): StatusList {
  return statusList(parts, {
    wanted: reportedOn,
    present: ({ volumesAttached }) => volumesAttached.map(({ name }) => name),
    status: (names) => ({ volumesAttached: names.map((name) => ({ name, devicePath: '' })) }),
  })
}

/** `volumesInUse`, by which the attach/detach controller knows what it must not detach. */
export function inUseList(parts: NodeStatusParts, inUseOn: (node: string) => readonly string[]): StatusList {
  return statusList(parts, {
    wanted: inUseOn,
    present: ({ volumesInUse }) => volumesInUse,
    status: (names) => ({ volumesInUse: names }),
  })
}

interface ListOptions {
  readonly wanted: (node: string) => readonly string[]
  readonly present: (node: CachedNode) => readonly string[]
  readonly status: (names: readonly string[]) => object
}

function statusList(parts: NodeStatusParts, { wanted, present, status }: ListOptions): StatusList {
  /** Nodes whose last write has ended well. Of those the cache is never older than that write. */
  const confirmed = new Set<string>()
  const write = coalesced(async (name: string, signal) => {
    const node = parts.nodes.store.get(name)
    const names = wanted(name)
    if (node === undefined || (confirmed.has(name) && isSameSet(present(node), names))) return
    confirmed.delete(name)
    await patchStatus(parts, { name, status: status(names) }, signal)
    confirmed.add(name)
  })
  return {
    write,
    says(name, volumeName) {
      if (!confirmed.has(name)) return 'perhaps'
      const node = parts.nodes.store.get(name)
      return node !== undefined && present(node).includes(volumeName) ? 'yes' : 'no'
    },
  }
}

async function patchStatus(
  { client, nodes }: NodeStatusParts,
  { name, status }: { readonly name: string; readonly status: object },
  signal: AbortSignal,
): Promise<void> {
  const patch = { kind: 'merge' as const, body: { status } }
  const saved = await except(isNotFound, client.patch(NODES, { name }, patch, { signal, subresource: 'status' }))
  if (saved !== undefined) nodes.learn(saved)
}

function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && new Set([...a, ...b]).size === a.length
}
