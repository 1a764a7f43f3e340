import type { Topology, TopologyRequirement } from '@csi-sidecars/csi-proto'
import type { Reader } from '@csi-sidecars/informer'
import { namespacedRef, type TopologySelectorTerm } from '@csi-sidecars/kube-types'
import { goQuote } from '@csi-sidecars/telemetry'
import { creationNodeOf, type ProvisionerClaim } from '../caches/claim.ts'
import type { Class, ProvisionerNode, Registration } from '../caches/cluster.ts'
import { ProvisionError } from '../request/failure.ts'
import type { ClaimWakeEvent } from '../request/wake-events.ts'

/** The nodes and their drivers, from which a topology is computed. */
export interface TopologyNodes {
  readonly nodes: Pick<Reader<ProvisionerNode>, 'get' | 'values'>
  readonly registrations: Pick<Reader<Registration>, 'get' | 'values'>
}

/** The restrictions of the topology of one claim. */
export interface TopologyRules {
  readonly claimName: string
  /** The selected node. Empty if no node is selected. */
  readonly node: string
  /** The allowed topologies of the class. */
  readonly allowed: readonly TopologySelectorTerm[]
  readonly isStrict: boolean
  readonly isImmediate: boolean
}

/** Returns the rules from which the topology requirement of a claim is computed. */
export function topologyRules(
  claim: ProvisionerClaim,
  { allowedTopologies: allowed }: Class,
  settings: { readonly strictTopology: boolean; readonly immediateTopology: boolean },
): TopologyRules {
  const { strictTopology: isStrict, immediateTopology: isImmediate } = settings
  return { claimName: namespacedRef(claim.key).name, node: creationNodeOf(claim), allowed, isStrict, isImmediate }
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

/** Returns the requisite and preferred topologies for CreateVolume. Undefined: any topology. Throws ProvisionError. */
export function requirementOf(rules: TopologyRules, cluster: TopologyNodes): TopologyRequirement | undefined {
  const { node, allowed, isStrict: strict, isImmediate: immediate, claimName } = rules
  const selected = node === '' ? undefined : nodeTopology(rules, cluster)
  if (selected !== undefined && strict) {
    assertAllowed(rules, selected.term)
    const only = toTopologies([selected.term])
    return { requisite: only, preferred: only }
  }
  if (selected === undefined && allowed.length === 0 && !immediate) return undefined
  const requisite = distinctTerms(
    allowed.length > 0 ? allCombinations(allowed) : availableTerms(selected?.keys, cluster),
  )
  if (requisite.length === 0) throw requirementError('no available topology found')
  const first =
    selected === undefined
      ? firstIndexFor(claimName, requisite.length)
      : requisite.findIndex((term) => isPartOf(term, selected.term))
  if (selected !== undefined && first === -1) {
    const topologyText = `topology ${termText(selected.term)} from selected node ${goQuote(node)}`
    throw requirementError(`${topologyText} is not in requisite: ${termsText(requisite)}`, node)
  }
  const preferred = rotate(requisite, first)
  return { requisite: toTopologies(requisite), preferred: toTopologies(preferred) }
}

/** Returns the terms from `first` on, followed by the terms before it. */
function rotate(terms: readonly Term[], first: number): readonly Term[] {
  return [...terms.slice(first), ...terms.slice(0, first)]
}

interface NodeTopology {
  readonly keys: readonly string[]
  readonly term: Term
}

function nodeTopology({ node: name }: TopologyRules, { nodes, registrations }: TopologyNodes): NodeTopology {
  const registration = registrations.get(name)
  if (registration === undefined) {
    const why = `csinode.storage.k8s.io ${goQuote(name)} not found`
    const waitsFor: readonly ClaimWakeEvent[] = [{ kind: 'node', name }]
    throw new ProvisionError(`failed to get selected CSINode ${name}: ${why}`, { reschedule: true, waitsFor })
  }
  const keys = registration.topologyKeys ?? []
  if (keys.length === 0) throw requirementError(`no topology key found for node ${name}`, name)
  const labels = nodes.get(name)?.labels ?? {}
  const term = termOf(labels, keys)
  if (term !== undefined) return { keys, term }
  const pairs = Object.keys(labels)
    .sort()
    .map((key) => `${key}:${labels[key]}`)
  const labelsText = `map[${pairs.join(' ')}]`
  throw requirementError(
    `topology labels from selected node ${labelsText} does not match topology keys from CSINode [${keys.join(' ')}]`,
    name,
  )
}

function assertAllowed({ allowed, node }: TopologyRules, nodeTerm: Term): void {
  if (allowed.length === 0) return
  const terms = allCombinations(allowed)
  if (terms.some((term) => isPartOf(term, nodeTerm))) return
  const topologyText = `selected node '${goQuote(node)}' topology '${termText(nodeTerm)}'`
  throw requirementError(`${topologyText} is not in allowed topologies: ${termsText(terms)}`, node)
}

/** Returns the topologies of nodes that have registered `keys`. Undefined `keys`: all registered sets of keys. */
function availableTerms(keys: readonly string[] | undefined, cluster: TopologyNodes): readonly Term[] {
  const sets = keys === undefined ? registeredKeys(cluster) : [keys]
  if (sets.length === 0) return []
  const terms = sets.flatMap((set) => termsOf(set, cluster))
  if (terms.length > 0) return terms
  const setsText = sets.map((set) => `[${set.join(' ')}]`).join(' ')
  throw requirementError(`topologyKeys ${keys === undefined ? `[${setsText}]` : setsText} were not found on any nodes`)
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

/** Returns the error. The claim then waits for a change of the node, or of any node if `node` is undefined. */
function requirementError(message: string, node?: string): ProvisionError {
  const waitsFor: readonly ClaimWakeEvent[] = [node === undefined ? { kind: 'nodes' } : { kind: 'node', name: node }]
  return new ProvisionError(`error generating accessibility requirements: ${message}`, { waitsFor })
}

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193
const MAX_UINT32 = 2 ** 32 - 1

interface Segment {
  readonly key: string
  readonly value: string
}

/** Pairs of topology keys and values, sorted by key. A node matches if it has all pairs. */
type Term = readonly Segment[]

type Labels = Readonly<Record<string, string>>

/** Compares by code units, so that the order does not depend on the locale. */
function byText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

function bySegment(a: Segment, b: Segment): number {
  return byText(a.key, b.key) || byText(a.value, b.value)
}

function byTerm(a: Term, b: Term): number {
  if (a.length !== b.length) return a.length - b.length
  for (const [at, segment] of a.entries()) {
    const order = bySegment(segment, b[at] ?? segment)
    if (order !== 0) return order
  }
  return 0
}

/** Returns the values of the topology keys from a node's labels. Undefined if a label is missing. */
function termOf(labels: Labels, keys: readonly string[]): Term | undefined {
  if (!keys.every((key) => Object.hasOwn(labels, key))) return undefined
  return keys.map((key) => ({ key, value: labels[key] ?? '' })).sort(bySegment)
}

/** Returns the terms in sorted order, without duplicates. */
function distinctTerms(terms: readonly Term[]): readonly Term[] {
  const sorted = [...terms].sort(byTerm)
  return sorted.filter((term, at) => at === 0 || byTerm(term, sorted[at - 1] ?? []) !== 0)
}

/** Reports whether each segment of `term` is also in `other`. */
function isPartOf(term: Term, other: Term): boolean {
  return term.every(({ key, value }) => other.some((each) => each.key === key && each.value === value))
}

/** Returns every combination of the values in each allowed topology of a StorageClass. */
function allCombinations(allowed: readonly TopologySelectorTerm[]): readonly Term[] {
  return allowed.flatMap(({ matchLabelExpressions }) => {
    const combined = (matchLabelExpressions ?? []).reduce<readonly Term[]>(
      (terms, { key, values }) => (values ?? []).flatMap((value) => terms.map((term) => [...term, { key, value }])),
      [[]],
    )
    return combined.filter((term) => term.length > 0).map((term) => [...term].sort(bySegment))
  })
}

function toTopologies(terms: readonly Term[]): Topology[] {
  return terms
    .filter((term) => term.length > 0)
    .map((term) => ({ segments: Object.fromEntries(term.map(({ key, value }) => [key, value])) }))
}

/** Returns a term in the notation of Go: `[{zone a} {rack 1}]`. */
function termText(term: Term): string {
  return `[${term.map(({ key, value }) => `{${key} ${value}}`).join(' ')}]`
}

function termsText(terms: readonly Term[]): string {
  return `[${terms.map(termText).join(' ')}]`
}

/**
 * Returns the index of the topology that the claim prefers. All claims of a StatefulSet pod get the same index, and the
 * claims of the next pod get the next index.
 */
function firstIndexFor(claimName: string, length: number): number {
  const { base, index } = partsOf(claimName)
  return ((fnv1(base) + index) >>> 0) % length
}

/** Splits `<claim>-<set>-<index>` into the StatefulSet's name and the index. Keeps any other name, with index 0. */
function partsOf(name: string): { readonly base: string; readonly index: number } {
  const dash = name.lastIndexOf('-')
  const digits = name.slice(dash + 1)
  const index = Number(digits)
  if (dash === -1 || !/^[0-9]+$/.test(digits) || index > MAX_UINT32) return { base: name, index: 0 }
  const rest = name.slice(0, dash)
  return { base: rest.slice(rest.lastIndexOf('-') + 1), index }
}

/** Returns the 32-bit FNV-1 hash. */
function fnv1(text: string): number {
  let hash = FNV_OFFSET
  for (const byte of Buffer.from(text)) hash = (Math.imul(hash, FNV_PRIME) ^ byte) >>> 0
  return hash
}
