import { boolYaml11Tag, CORE_SCHEMA, loadAll, mergeTag, YAMLException } from 'js-yaml'

/** The parts of a kubeconfig that its current context names. Absent parts are empty, as clientcmd has them. */
export interface KubeconfigDocument {
  readonly currentContext: string
  readonly contextFound: boolean
  readonly clusterName: string
  readonly cluster: Fields | undefined
  readonly userName: string
  readonly user: Fields
  /** Empty: the context names none. */
  readonly namespace: string
  /** Which of the files the cluster and the user come from. */
  readonly clusterFile: number
  readonly userFile: number
}

/** A YAML mapping, read with `text` and its like. */
export type Fields = Readonly<Record<string, unknown>>

/** Throws when the text is no YAML mapping; the message has one line. */
export function parseKubeconfig(content: string): Fields {
  const value = yamlValue(content) ?? {}
  if (typeof value !== 'object' || Array.isArray(value)) throw new Error('yaml: the document is not a mapping')
  return fields(value)
}

/** What a context asks for, by default the current one. Of several files the first one that has a name decides. */
export function documentOf(files: readonly Fields[], context = ''): KubeconfigDocument {
  const current = files.map((file) => text(file, 'current-context')).find((name) => name !== '')
  const currentContext = context === '' ? (current ?? '') : context
  const found = entry(files, { list: 'contexts', kind: 'context', name: currentContext })
  const named = found?.fields ?? {}
  const [clusterName, userName] = [text(named, 'cluster'), text(named, 'user')]
  const cluster = entry(files, { list: 'clusters', kind: 'cluster', name: clusterName })
  const user = entry(files, { list: 'users', kind: 'user', name: userName })
  return {
    currentContext,
    contextFound: found !== undefined,
    clusterName,
    cluster: cluster?.fields,
    userName,
    user: user?.fields ?? {},
    namespace: text(named, 'namespace'),
    clusterFile: cluster?.file ?? 0,
    userFile: user?.file ?? 0,
  }
}

/** A text field; empty when it is missing. Numbers count as text, but where validation refuses them. */
export function text(from: Fields, name: string): string {
  const value = from[name]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

/** A field that is a mapping; empty when it is missing. */
export function mapping(from: Fields, name: string): Fields {
  return fields(from[name])
}

/** A field that is a list of texts. */
export function texts(from: Fields, name: string): string[] {
  const value = from[name]
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

interface EntryOf {
  readonly list: string
  readonly kind: string
  readonly name: string
}

function entry(files: readonly Fields[], { list, kind, name }: EntryOf): { fields: Fields; file: number } | undefined {
  if (name === '') return undefined
  for (const [file, root] of files.entries()) {
    const all = root[list]
    const found = Array.isArray(all) ? all.map(fields).find((each) => text(each, 'name') === name) : undefined
    if (found !== undefined) return { fields: mapping(found, kind), file }
  }
  return undefined
}

/** What Go's programs take for truth in YAML, and its merged mappings; beyond that, YAML as it is today. */
const SCHEMA = CORE_SCHEMA.withTags(boolYaml11Tag, mergeTag)

/** Of two equal keys the last one counts, as in Go. */
function yamlValue(content: string): unknown {
  try {
    return loadAll(firstDocument(content), { schema: SCHEMA, json: true })[0]
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error
    // Its message goes on with an excerpt of the file, secrets included.
    const { reason, mark } = error
    throw new Error(mark === undefined ? `yaml: ${reason}` : `yaml: line ${mark.line + 1}: ${reason}`)
  }
}

/**
 * The lines up to the end of the first document: Go's programs read no further, and what comes there may be anything.
 * A line that begins so is a mark wherever it stands, within texts as well.
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
