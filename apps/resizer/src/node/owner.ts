import type { PersistentVolume } from '@csi-sidecars/kube-types'
import { matchesTerm, NAME_FIELD, type NodeSelectorRequirement, type NodeSelectorTerm } from '@csi-sidecars/kube-types'

/** The node of this process: its Node object, and the entry of the driver in its CSINode. */
export interface LocalNode {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  /** The driver's id of the node. */
  readonly nodeId: string
  /** The keys of the labels that the driver places volumes by. */
  readonly topologyKeys: readonly string[]
}

/**
 * The owner of a volume.
 * - `own`: its affinity admits this node and can admit no other node.
 * - `foreign`: its affinity does not admit this node.
 * - `shared`: its affinity admits this node and possibly others. No instance may act, because none knows which others
 * run.
 * - `none`: it has no affinity, so all nodes are equal.
 */
export type Owner = 'own' | 'foreign' | 'shared' | 'none'

const HOST_NAME_LABEL = 'kubernetes.io/hostname'

/**
 * Returns the owner of a volume. An instance reads its own Node only, so it cannot count the nodes that a selector
 * admits. It checks whether each term names this node: by name, by host name, or by a topology key of the driver whose
 * value identifies the node. A zone never identifies a node, even if it has only one.
 */
export function ownerOf(affinity: NonNullable<PersistentVolume['spec']>['nodeAffinity'], node: LocalNode): Owner {
  const terms = affinity?.required?.nodeSelectorTerms
  if (terms == null || terms.length === 0) return 'none'
  if (!terms.some((term) => matchesTerm(term, node))) return 'foreign'
  const identity = identityOf(node)
  return terms.every((term) => admitsNothing(term) || namesNode(term, node, identity)) ? 'own' : 'shared'
}

/** The labels that no other node has. */
function identityOf({ name, labels, nodeId, topologyKeys }: LocalNode): ReadonlyMap<string, string> {
  const hostName = labels[HOST_NAME_LABEL]
  const unique = new Set([name, hostName, nodeId])
  const identity = new Map<string, string>()
  if (hostName !== undefined) identity.set(HOST_NAME_LABEL, hostName)
  for (const key of topologyKeys) {
    const value = labels[key]
    if (value !== undefined && value !== '' && unique.has(value)) identity.set(key, value)
  }
  return identity
}

function admitsNothing({ matchExpressions, matchFields }: NodeSelectorTerm): boolean {
  return (matchExpressions ?? []).length === 0 && (matchFields ?? []).length === 0
}

function namesNode(
  { matchExpressions, matchFields }: NodeSelectorTerm,
  { name }: LocalNode,
  identity: ReadonlyMap<string, string>,
): boolean {
  return (
    (matchExpressions ?? []).some((each) => isOnly(each, identity.get(each.key))) ||
    (matchFields ?? []).some((each) => each.key === NAME_FIELD && isOnly(each, name))
  )
}

/** Reports whether only this value meets the requirement. */
function isOnly({ operator, values }: NodeSelectorRequirement, value: string | undefined): boolean {
  return (
    operator === 'In' && value !== undefined && values?.length !== 0 && values?.every((each) => each === value) === true
  )
}
