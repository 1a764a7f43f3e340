import type { TopologyRequirement } from '@csi-sidecars/csi-proto'
import type { Reader } from '@csi-sidecars/informer'
import type { TopologySelectorTerm } from '@csi-sidecars/kube-types'
import { goQuote } from '@csi-sidecars/telemetry'
import { type Claim, claimRef, nodeOfRequest } from '../caches/claim.ts'
import type { CachedNode, Class, Registration } from '../caches/cluster.ts'
import { ProvisionError } from '../request/failure.ts'
import {
  distinctTerms,
  flattened,
  holdsIn,
  placeOf,
  rotated,
  type Term,
  termOf,
  termsText,
  termText,
  toTopologies,
} from './term.ts'

export interface TopologyNodes {
  readonly nodes: Pick<Reader<CachedNode>, 'get' | 'values'>
  readonly registrations: Pick<Reader<Registration>, 'get' | 'values'>
}

export interface TopologyRules {
  readonly claimName: string
  /** The selected node. Empty if no node is selected. */
  readonly node: string
  /** The allowed topologies of the class. */
  readonly allowed: readonly TopologySelectorTerm[]
  /** The value of `--strict-topology`. */
  readonly strict: boolean
  /** The value of `--immediate-topology`. */
  readonly immediate: boolean
}

/** Returns the rules from which the topology requirement of a claim is computed. */
export function topologyRules(
  claim: Claim,
  { allowedTopologies: allowed }: Class,
  settings: { readonly strictTopology: boolean; readonly immediateTopology: boolean },
): TopologyRules {
  const { strictTopology: strict, immediateTopology: immediate } = settings
  return { claimName: claimRef(claim).name, node: nodeOfRequest(claim), allowed, strict, immediate }
}

/** Reports whether the allowed topologies of the StorageClass include the node. */
export function allowsNode(rules: TopologyRules, node: string, cluster: TopologyNodes | undefined): boolean {
  if (rules.allowed.length === 0 || cluster === undefined) return true
  try {
    requirementOf({ ...rules, node }, cluster)
    return true
  } catch (error) {
    if (error instanceof ProvisionError) return false
    throw error
  }
}

/** Returns the topologies that must and should reach the volume. Undefined: any topology. Throws ProvisionError. */
export function requirementOf(rules: TopologyRules, cluster: TopologyNodes): TopologyRequirement | undefined {
  const { node, allowed, strict, immediate, claimName } = rules
  const own = node === '' ? undefined : nodeTopology(rules, cluster)
  if (own !== undefined && strict) {
    checkAllowed(rules, own.term)
    const only = toTopologies([own.term])
    return { requisite: only, preferred: only }
  }
  if (own === undefined && allowed.length === 0 && !immediate) return undefined
  const requisite = distinctTerms(allowed.length > 0 ? flattened(allowed) : available(own?.keys, cluster))
  if (requisite.length === 0) throw failure('no available topology found')
  const first =
    own === undefined ? placeOf(claimName, requisite.length) : requisite.findIndex((term) => holdsIn(term, own.term))
  if (own !== undefined && first === -1) {
    const what = `topology ${termText(own.term)} from selected node ${goQuote(node)}`
    throw failure(`${what} is not in requisite: ${termsText(requisite)}`, node)
  }
  return { requisite: toTopologies(requisite), preferred: toTopologies(rotated(requisite, first)) }
}

interface NodeTopology {
  readonly keys: readonly string[]
  readonly term: Term
}

function nodeTopology({ node: name }: TopologyRules, { nodes, registrations }: TopologyNodes): NodeTopology {
  const registration = registrations.get(name)
  if (registration === undefined) {
    const why = `csinode.storage.k8s.io ${goQuote(name)} not found`
    const waitsFor = [{ on: 'node', name }]
    throw new ProvisionError(`failed to get selected CSINode ${name}: ${why}`, { reschedule: true, waitsFor })
  }
  const keys = registration.topologyKeys ?? []
  if (keys.length === 0) throw failure(`no topology key found for node ${name}`, name)
  const labels = nodes.get(name)?.labels ?? {}
  const term = termOf(labels, keys)
  if (term !== undefined) return { keys, term }
  const pairs = Object.keys(labels)
    .sort()
    .map((key) => `${key}:${labels[key]}`)
  const shown = `map[${pairs.join(' ')}]`
  throw failure(
    `topology labels from selected node ${shown} does not match topology keys from CSINode [${keys.join(' ')}]`,
    name,
  )
}

function checkAllowed({ allowed, node }: TopologyRules, own: Term): void {
  if (allowed.length === 0) return
  const terms = flattened(allowed)
  if (terms.some((term) => holdsIn(term, own))) return
  const what = `selected node '${goQuote(node)}' topology '${termText(own)}'`
  throw failure(`${what} is not in allowed topologies: ${termsText(terms)}`, node)
}

/** Returns the topologies of the nodes with these registered keys. Without keys, uses each registered set of keys. */
function available(keys: readonly string[] | undefined, cluster: TopologyNodes): readonly Term[] {
  const sets = keys === undefined ? registeredKeys(cluster) : [keys]
  if (sets.length === 0) return []
  const terms = sets.flatMap((set) => termsOf(set, cluster))
  if (terms.length > 0) return terms
  const shown = sets.map((set) => `[${set.join(' ')}]`).join(' ')
  throw failure(`topologyKeys ${keys === undefined ? `[${shown}]` : shown} were not found on any nodes`)
}

function registeredKeys({ registrations }: TopologyNodes): readonly (readonly string[])[] {
  const sets = new Map<string, readonly string[]>()
  for (const { topologyKeys = [] } of registrations.values()) {
    if (topologyKeys.length === 0) continue
    const sorted = [...topologyKeys].sort()
    sets.set(sorted.join('\0'), sorted)
  }
  return [...sets].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, set]) => set)
}

/** Returns the topologies of nodes on which the driver has registered the keys. Labels alone do not count. */
function termsOf(keys: readonly string[], { nodes, registrations }: TopologyNodes): readonly Term[] {
  const terms: Term[] = []
  for (const { key: name, topologyKeys = [] } of registrations.values()) {
    if (!keys.every((key) => topologyKeys.includes(key))) continue
    const term = termOf(nodes.get(name)?.labels ?? {}, keys)
    if (term !== undefined) terms.push(term)
  }
  return terms
}

/** Returns an error that waits for a change of the selected node, or of any node if no node is selected. */
function failure(message: string, node?: string): ProvisionError {
  const waitsFor = [node === undefined ? { on: 'nodes' } : { on: 'node', name: node }]
  return new ProvisionError(`error generating accessibility requirements: ${message}`, { waitsFor })
}
