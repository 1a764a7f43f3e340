/** The limits of go-yaml: they accept a document of 10 MB with aliases, but not one that expands to a gigabyte. */
const FREE_NODES = 1_000
const FREE_ALIASED = 100
const FEW_NODES = 400_000
const MANY_NODES = 4_000_000
const LARGEST_SHARE = 0.99
const SMALLEST_SHARE = 0.1
/** The maximum depth of a YAML document. Nested aliases may make it deeper than its text. */
const DEEPEST = 1_000

/**
 * Throws if aliases repeat too large a share of the nodes of a document, or repeat them endlessly. An alias is the same
 * object as its anchor, so the count includes each repetition.
 */
export function checkAliases(value: unknown): void {
  const seen = new Set<object>()
  const open = new Set<object>()
  let nodes = 0
  let aliased = 0
  const count = (inAlias: boolean): void => {
    nodes += 1
    if (inAlias) aliased += 1
    if (aliased > FREE_ALIASED && nodes > FREE_NODES && aliased / nodes > allowedShare(nodes)) {
      throw new Error('yaml: document contains excessive aliasing')
    }
  }
  const visit = (node: unknown, within: boolean): void => {
    if (typeof node !== 'object' || node === null) return count(within)
    if (open.has(node)) throw new Error('yaml: the value of an anchor contains itself')
    const inAlias = within || seen.has(node)
    count(inAlias)
    seen.add(node)
    open.add(node)
    if (open.size > DEEPEST) throw new Error(`yaml: exceeded max depth of ${DEEPEST}`)
    for (const each of Object.values(node)) visit(each, inAlias)
    open.delete(node)
  }
  visit(value, false)
}

/** Returns the share of the nodes that may come from aliases. It is smaller for a larger YAML document. */
function allowedShare(nodes: number): number {
  if (nodes <= FEW_NODES) return LARGEST_SHARE
  if (nodes >= MANY_NODES) return SMALLEST_SHARE
  return LARGEST_SHARE - (LARGEST_SHARE - SMALLEST_SHARE) * ((nodes - FEW_NODES) / (MANY_NODES - FEW_NODES))
}
