import type { Topology } from '@csi-sidecars/csi-proto'
import type { TopologySelectorTerm } from '@csi-sidecars/kube-types'

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193
const MAX_UINT32 = 2 ** 32 - 1

interface Segment {
  readonly key: string
  readonly value: string
}

/** Pairs of topology keys and values, sorted by key. A node matches if it has all of them. */
export type Term = readonly Segment[]

type Labels = Readonly<Record<string, string>>

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const bySegment = (a: Segment, b: Segment): number => byText(a.key, b.key) || byText(a.value, b.value)

function byTerm(a: Term, b: Term): number {
  if (a.length !== b.length) return a.length - b.length
  for (const [at, segment] of a.entries()) {
    const order = bySegment(segment, b[at] ?? segment)
    if (order !== 0) return order
  }
  return 0
}

/** Returns the values of the topology keys from a node's labels. Undefined if a label is missing. */
export function termOf(labels: Labels, keys: readonly string[]): Term | undefined {
  if (!keys.every((key) => Object.hasOwn(labels, key))) return undefined
  return keys.map((key) => ({ key, value: labels[key] ?? '' })).sort(bySegment)
}

/** Returns the terms in sorted order, without duplicates. */
export function distinctTerms(terms: readonly Term[]): readonly Term[] {
  const sorted = [...terms].sort(byTerm)
  return sorted.filter((term, at) => at === 0 || byTerm(term, sorted[at - 1] ?? []) !== 0)
}

/** Reports whether each segment of `term` is also in `other`. */
export function holdsIn(term: Term, other: Term): boolean {
  return term.every(({ key, value }) => other.some((each) => each.key === key && each.value === value))
}

/** Returns every combination of the values in each allowed topology of a StorageClass. */
export function flattened(allowed: readonly TopologySelectorTerm[]): readonly Term[] {
  return allowed.flatMap(({ matchLabelExpressions }) => {
    const combined = (matchLabelExpressions ?? []).reduce<readonly Term[]>(
      (terms, { key, values }) => (values ?? []).flatMap((value) => terms.map((term) => [...term, { key, value }])),
      [[]],
    )
    return combined.filter((term) => term.length > 0).map((term) => [...term].sort(bySegment))
  })
}

/** Returns the list rotated, so that the element at index `at` is the first. */
export function rotated<T>(list: readonly T[], at: number): readonly T[] {
  return [...list.slice(at), ...list.slice(0, at)]
}

export function toTopologies(terms: readonly Term[]): Topology[] {
  return terms
    .filter((term) => term.length > 0)
    .map((term) => ({ segments: Object.fromEntries(term.map(({ key, value }) => [key, value])) }))
}

/** Returns a term in the notation of Go: `[{zone a} {rack 1}]`. */
export function termText(term: Term): string {
  return `[${term.map(({ key, value }) => `{${key} ${value}}`).join(' ')}]`
}

export function termsText(terms: readonly Term[]): string {
  return `[${terms.map(termText).join(' ')}]`
}

/**
 * Returns the index of the topology that the claim prefers. All claims of a StatefulSet pod get the same index, and the
 * claims of the next pod get the next index.
 */
export function placeOf(claimName: string, length: number): number {
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
