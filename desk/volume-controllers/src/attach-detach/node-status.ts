import type { Informer } from '@csi-sidecars/informer'
import { isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { NODES, type Node } from '@csi-sidecars/kube-types'
import type { CachedNode } from '../caches/node.ts'
import { coalesced } from '../coalesce.ts'
import { except } from '../control.ts'

/** Everything that the writers of a node's volume lists need. */
export interface NodeStatusParts {
  readonly client: Pick<KubeClient, 'patch'>
  readonly nodes: Pick<Informer<CachedNode, Node>, 'storeAnswer' | 'store'>
}

/** Whether a node status lists a volume. `perhaps`: the last write of this process failed, or there was none. */
export type Says = 'yes' | 'no' | 'perhaps'

/**
 * The only writer of one list of volumes in the node statuses. It trusts the cached list only after a confirmed write,
 * because otherwise the API server may have a newer list.
 */
export interface StatusList {
  /** Writes the list of a node. Resolves when the API server has a list that is at least as new as this call. */
  write(node: string, signal: AbortSignal): Promise<void>
  says(node: string, volumeName: string): Says
}

/** Returns the list `volumesAttached`, which allows the kubelet to use volumes. Deleted nodes are skipped. */
export function attachedList(deps: NodeStatusParts, reportedOn: (node: string) => readonly string[]): StatusList {
  return statusList(deps, {
    desired: reportedOn,
    present: ({ volumesAttached }) => volumesAttached.map(({ name }) => name),
    status: (names) => ({ volumesAttached: names.map((name) => ({ name, devicePath: '' })) }),
  })
}

/** Returns the list `volumesInUse`, which keeps the attach/detach controller from detaching volumes. */
export function inUseList(deps: NodeStatusParts, inUseOn: (node: string) => readonly string[]): StatusList {
  return statusList(deps, {
    desired: inUseOn,
    present: ({ volumesInUse }) => volumesInUse,
    status: (names) => ({ volumesInUse: names }),
  })
}

interface ListOptions {
  readonly desired: (node: string) => readonly string[]
  readonly present: (node: CachedNode) => readonly string[]
  readonly status: (names: readonly string[]) => object
}

function statusList(deps: NodeStatusParts, { desired, present, status }: ListOptions): StatusList {
  /** The nodes whose last write succeeded. For these nodes, the cache is at least as new as the write. */
  const reportedInUse = new Set<string>()
  const write = coalesced(async (name: string, signal) => {
    const node = deps.nodes.store.get(name)
    const names = desired(name)
    if (node === undefined || (reportedInUse.has(name) && isSameSet(present(node), names))) return
    reportedInUse.delete(name)
    await patchStatus(deps, { name, status: status(names) }, signal)
    reportedInUse.add(name)
  })
  return {
    write,
    says(name, volumeName) {
      if (!reportedInUse.has(name)) return 'perhaps'
      const node = deps.nodes.store.get(name)
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
  if (saved !== undefined) nodes.storeAnswer(saved)
}

function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && new Set([...a, ...b]).size === a.length
}
