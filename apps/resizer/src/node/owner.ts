import {
  matchesTerm,
  NAME_FIELD,
  type NodeSelectorRequirement,
  type NodeSelectorTerm,
  type PersistentVolume,
} from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'

/** The node of this process: its Node object, and the entry of the driver in its CSINode. */
export interface ResizerNode {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly nodeId: string
  /** The keys of the node labels that are the driver's topology. */
  readonly topologyKeys: readonly string[]
}

/**
 * The owner of a volume.
 * - `own`: its affinity admits this node and can admit no other node.
 * - `foreign`: its affinity does not admit this node.
 * - `shared`: its affinity admits this node and possibly others. No resizer may act, because it does not know whether
 *   another node's resizer acts too.
 * - `none`: it has no affinity, so all nodes are equal.
 */
export type VolumeOwner = 'own' | 'foreign' | 'shared' | 'none'

/** The node whose volumes this process may change. */
export interface OwnVolumesOptions {
  /** The node of this process. Undefined until it was read: no volume is owned. */
  readonly node: () => ResizerNode | undefined
  readonly log: Logger
}

const HOST_NAME_LABEL = 'kubernetes.io/hostname'

/**
 * Returns the owner of a volume. A resizer with `--node-deployment` reads only its own Node, so it cannot count the
 * nodes that a selector admits. It checks whether each term names this node: by name, by host name, or by a topology
 * key whose value identifies the node. A zone never identifies a node, even if it has only one node.
 */
export function ownerOf(
  affinity: NonNullable<PersistentVolume['spec']>['nodeAffinity'],
  node: ResizerNode,
): VolumeOwner {
  const terms = affinity?.required?.nodeSelectorTerms
  if (terms == null || terms.length === 0) return 'none'
  if (!terms.some((term) => matchesTerm(term, node))) return 'foreign'
  const identity = identityOf(node)
  return terms.every((term) => admitsNothing(term) || namesNode(term, node, identity)) ? 'own' : 'shared'
}

/** Returns the labels of the node that no other node has with the same value. */
function identityOf({ name, labels, nodeId, topologyKeys }: ResizerNode): ReadonlyMap<string, string> {
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
  { name }: ResizerNode,
  identity: ReadonlyMap<string, string>,
): boolean {
  return (
    (matchExpressions ?? []).some((each) => isOnly(each, identity.get(each.key))) ||
    (matchFields ?? []).some((each) => each.key === NAME_FIELD && isOnly(each, name))
  )
}

/** Reports whether a requirement of a node selector admits only this label value. */
function isOnly({ operator, values }: NodeSelectorRequirement, value: string | undefined): boolean {
  return (
    operator === 'In' && value !== undefined && values?.length !== 0 && values?.every((each) => each === value) === true
  )
}

/** The number of volumes to remember as logged. If there are more, the oldest is forgotten and may be logged again. */
const REMEMBERED = 10_000

const WHY: Readonly<Record<Exclude<VolumeOwner, 'own' | 'foreign'>, string>> = {
  none: 'it has no nodeAffinity',
  shared: 'its nodeAffinity does not name this node alone',
}

/** Decides which volumes of the driver this process acts on. If no process may act on a volume, logs that once. */
export class OwnVolumes {
  readonly #options: OwnVolumesOptions
  readonly #logged = new Set<string>()

  constructor(options: OwnVolumesOptions) {
    this.#options = options
  }

  has(pv: PersistentVolume): boolean {
    const node = this.#options.node()
    if (node === undefined) return false
    const owner = ownerOf(pv.spec?.nodeAffinity, node)
    if (owner === 'none' || owner === 'shared') this.#logOnce(pv, WHY[owner])
    return owner === 'own'
  }

  #logOnce({ metadata }: PersistentVolume, why: string): void {
    const { name = '', uid = '' } = metadata ?? {}
    if (this.#logged.has(uid)) return
    const [oldest] = this.#logged
    if (this.#logged.size >= REMEMBERED && oldest !== undefined) this.#logged.delete(oldest)
    this.#logged.add(uid)
    this.#options.log.info('Volume is left alone: it needs a resizer without --node-deployment', { PV: name, why })
  }
}
