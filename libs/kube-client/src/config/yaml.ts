import {
  boolYaml11Tag,
  CORE_SCHEMA,
  defineMappingTag,
  defineScalarTag,
  defineSequenceTag,
  loadAll,
  mapTag,
  mergeTag,
  seqTag,
  YAMLException,
} from 'js-yaml'
import { checkAliases } from './yaml-aliases.ts'

/** The prefix that matches every tag that the schema does not know. */
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
  try {
    const value: unknown = loadAll(firstDocument(content), { schema: SCHEMA, json: true })[0]
    checkAliases(value)
    return value
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error
    // The message of the YAMLException is not used, because it quotes the file with its secrets.
    const { mark } = error
    const reason = inOneLine(error.reason)
    throw new Error(mark === undefined ? `yaml: ${reason}` : `yaml: line ${mark.line + 1}: ${reason}`)
  }
}

/** Escapes line breaks and other control characters, because a reason may quote the name of a tag or an alias. */
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
