import {
  boolYaml11Tag,
  CORE_SCHEMA,
  defineMappingTag,
  defineScalarTag,
  defineSequenceTag,
  dump,
  loadAll,
  mapTag,
  mergeTag,
  seqTag,
  YAMLException,
} from 'js-yaml'

/** The prefix of all YAML tags. It defines how unknown tags are read. */
const ANY = ''

/**
 * YAML with the booleans and merged mappings that Go programs accept. Unknown tags are ignored, and their scalars are
 * text.
 */
const SCHEMA = CORE_SCHEMA.withTags(
  boolYaml11Tag,
  mergeTag,
  defineScalarTag('tag:yaml.org,2002:binary', {
    resolve: (text) => Buffer.from(text, 'base64').toString('utf8'),
    identify: () => false,
  }),
  defineScalarTag(ANY, { matchByTagPrefix: true, resolve: (text) => text, identify: () => false }),
  defineSequenceTag(ANY, { ...seqTag, matchByTagPrefix: true }),
  defineMappingTag(ANY, { ...mapTag, matchByTagPrefix: true }),
)

/** Returns the first YAML document of a text, or undefined if it is empty. The last of two equal keys counts. */
export function yamlValue(content: string): unknown {
  return yamlDocuments(firstDocument(content))[0]
}

/** Returns all YAML documents of a text. The last of two equal keys counts. Throws one line that quotes no content. */
export function yamlDocuments(content: string): readonly unknown[] {
  try {
    const values: readonly unknown[] = loadAll(content, { schema: SCHEMA, json: true })
    for (const value of values) checkAliases(value)
    return values
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error
    // The message of the YAMLException is not used, because it quotes the file with its secrets.
    const { mark } = error
    const reason = inOneLine(error.reason)
    throw new Error(mark === undefined ? `yaml: ${reason}` : `yaml: line ${mark.line + 1}: ${reason}`)
  }
}

/** Returns a value as YAML, without folded lines and anchors. From the level `flowLevel` on, each value is one line. */
export function yamlText(value: unknown, flowLevel = -1): string {
  return dump(value, { lineWidth: -1, noRefs: true, flowLevel })
}

/** Escapes control characters, such as the line breaks in a quoted name, so that the reason is one line. */
function inOneLine(reason: string): string {
  return reason.replaceAll(/\p{Cc}/gu, (character) => JSON.stringify(character).slice(1, -1))
}

/**
 * Returns the lines of the first YAML document, because Go programs ignore the rest. A mark at the start of a
 * line ends the document even inside a string.
 */
function firstDocument(content: string): string {
  const lines = content.replace(/^\uFEFF/, '').split(/(?<=\n)/)
  let begun = false
  const end = lines.findIndex((line) => {
    const starts = /^---(?:\s|$)/.test(line)
    if (begun && (starts || /^\.\.\.(?:\s|$)/.test(line))) return true
    begun ||= starts || !/^(?:\s*(?:#.*)?|%.*)$/.test(line.trimEnd())
    return false
  })
  return end < 0 ? lines.join('') : lines.slice(0, end).join('')
}

/** The limits of go-yaml, which refuse a document whose aliases expand to a gigabyte. */
const FREE_NODES = 1_000
const FREE_ALIASED = 100
const FEW_NODES = 400_000
const MANY_NODES = 4_000_000
const MAX_SHARE = 0.99
const MIN_SHARE = 0.1
/** The maximum depth of a YAML document. Nested aliases may make it deeper than its text. */
const DEEPEST = 1_000

/**
 * Throws if too large a share of the nodes of a document comes from aliases, or if an alias contains itself. An alias
 * is the same object as its anchor, so the count includes each repetition.
 */
function checkAliases(value: unknown): void {
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
  if (nodes <= FEW_NODES) return MAX_SHARE
  if (nodes >= MANY_NODES) return MIN_SHARE
  return MAX_SHARE - (MAX_SHARE - MIN_SHARE) * ((nodes - FEW_NODES) / (MANY_NODES - FEW_NODES))
}
