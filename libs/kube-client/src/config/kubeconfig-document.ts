import { messageOf } from '@csi-sidecars/base'
import { KubeConfig } from '@kubernetes/client-node/dist/config.js'

/** The parts of a kubeconfig that its current context names. Absent parts are empty, as clientcmd has them. */
export interface KubeconfigDocument {
  readonly currentContext: string
  readonly contextFound: boolean
  readonly clusterName: string
  readonly cluster: Fields | undefined
  readonly userName: string
  readonly user: Fields
}

/** A YAML mapping, read with `text` and its like. */
export type Fields = Readonly<Record<string, unknown>>

/** Throws when the text is no YAML mapping; the message has one line. */
export function parseKubeconfig(content: string): KubeconfigDocument {
  const value = yamlValue(content) ?? {}
  if (typeof value !== 'object' || Array.isArray(value)) throw new Error('yaml: the document is not a mapping')
  const root = fields(value)
  const currentContext = text(root, 'current-context')
  const context = entry(root, 'contexts', 'context', currentContext)
  const clusterName = text(context ?? {}, 'cluster')
  const userName = text(context ?? {}, 'user')
  return {
    currentContext,
    contextFound: context !== undefined,
    clusterName,
    cluster: entry(root, 'clusters', 'cluster', clusterName),
    userName,
    user: entry(root, 'users', 'user', userName) ?? {},
  }
}

/** A text field; empty when it is missing. Numbers count as text, as an unquoted token of digits is one. */
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

function entry(root: Fields, list: string, kind: string, name: string): Fields | undefined {
  const all = root[list]
  if (name === '' || !Array.isArray(all)) return undefined
  const found = all.map(fields).find((each) => text(each, 'name') === name)
  return found && mapping(found, kind)
}

/** Lines that the wrapper below puts before the document. */
const WRAPPER_LINES = 4

/**
 * The document as it stands. KubeConfig drops the fields it does not know, `tokenFile` among them, except below a
 * user's `exec`, which it keeps whole: so the document is handed to it there.
 */
function yamlValue(content: string): unknown {
  const preamble = /^\uFEFF?(?:[ \t]*(?:#.*|---[ \t]*)?\r?\n)*/.exec(content)?.[0] ?? ''
  const indented = content.slice(preamble.length).replaceAll(/^(?=.)/gm, '      ')
  const config = new KubeConfig()
  try {
    config.loadFromString(`users:\n- name: document\n  user:\n    exec:\n${indented}\n`)
  } catch (error) {
    // Without its cause, which carries the whole document, secrets included.
    throw new Error(yamlMessage(messageOf(error), preamble.split('\n').length - 1))
  }
  return config.users[0]?.exec
}

/** `duplicated mapping key (6:7)` and an excerpt below it become one line, with the line number of the user's file. */
function yamlMessage(message: string, skippedLines: number): string {
  const [first = ''] = message.split('\n', 1)
  const at = / \((\d+):\d+\)$/.exec(first)
  if (at === null) return `yaml: ${first}`
  return `yaml: line ${Number(at[1]) - WRAPPER_LINES + skippedLines}: ${first.slice(0, at.index)}`
}
