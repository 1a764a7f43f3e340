import { isJsonObject } from '@csi-sidecars/kube-types'
import { yamlValue } from './yaml.ts'

/** The parts of a kubeconfig that its current context names. Absent parts are empty, as in clientcmd. */
export interface KubeconfigDocument {
  readonly currentContext: string
  readonly contextFound: boolean
  readonly clusterName: string
  readonly cluster: KubeconfigFields | undefined
  readonly userName: string
  readonly user: KubeconfigFields
  /** The namespace of the context. Empty if the context has none. */
  readonly namespace: string
  /** The indexes of the files that define the cluster and the user. */
  readonly clusterFile: number
  readonly userFile: number
}

/** A YAML mapping. The functions `text`, `texts` and `mapping` read its fields. */
export type KubeconfigFields = Readonly<Record<string, unknown>>

/** Parses a kubeconfig. Throws a one-line error if it is not a YAML mapping. */
export function parseKubeconfig(content: string): KubeconfigFields {
  const value = yamlValue(content) ?? {}
  if (!isJsonObject(value)) throw new Error('yaml: the document is not a mapping')
  return value
}

/**
 * Returns the content of a kubeconfig context, by default the current one. If several files define a name, the first
 * file decides.
 */
export function documentOf(files: readonly KubeconfigFields[], context = ''): KubeconfigDocument {
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

/** Returns the text or the number in a field as text. Empty if the field is missing. */
export function text(from: KubeconfigFields, name: string): string {
  const value = from[name]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

/** Returns a field that is a mapping, empty if it is missing. */
export function mapping(from: KubeconfigFields, name: string): KubeconfigFields {
  return fields(from[name])
}

/** Returns the strings of a field that is a list. */
export function texts(from: KubeconfigFields, name: string): string[] {
  const value = from[name]
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

function fields(value: unknown): KubeconfigFields {
  return isJsonObject(value) ? value : {}
}

interface EntryOf {
  readonly list: string
  readonly kind: string
  readonly name: string
}

function entry(
  files: readonly KubeconfigFields[],
  { list, kind, name }: EntryOf,
): { fields: KubeconfigFields; file: number } | undefined {
  if (name === '') return undefined
  for (const [file, root] of files.entries()) {
    const all = root[list]
    const found = Array.isArray(all) ? all.map(fields).find((each) => text(each, 'name') === name) : undefined
    if (found !== undefined) return { fields: mapping(found, kind), file }
  }
  return undefined
}
