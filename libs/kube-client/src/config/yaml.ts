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
    for (const value of values) checkSize(value)
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

/** The maximum number of nodes of a YAML document, with each repetition by an alias. go-yaml allows about as many. */
const MAX_NODES = 4_000_000
/** The maximum depth of a YAML document. Nested aliases make it deeper than its text, and an anchor may be in itself. */
const MAX_DEPTH = 1_000

/** Throws if aliases make a document too large or too deep. An alias is the same object as its anchor. */
function checkSize(value: unknown): void {
  let nodes = 0
  const visit = (node: unknown, depth: number): void => {
    nodes += 1
    if (nodes > MAX_NODES) throw new Error('yaml: document contains excessive aliasing')
    if (depth > MAX_DEPTH) throw new Error(`yaml: exceeded max depth of ${MAX_DEPTH}`)
    if (typeof node !== 'object' || node === null) return
    for (const each of Object.values(node)) visit(each, depth + 1)
  }
  visit(value, 0)
}
