import { readFileSync } from 'node:fs'
import { messageOf } from '@csi-sidecars/base'
import { type KubeconfigDocument, type KubeconfigFields, mapping, text } from './kubeconfig-document.ts'
import { parseProxy } from './proxy.ts'
import { redactedUrl } from './server-url.ts'
import { fileError } from './trusted-roots.ts'

const NO_CONFIGURATION = 'no configuration has been provided, try setting KUBERNETES_MASTER environment variable'

/**
 * Throws a one-line error with the texts of clientcmd if used parts of a kubeconfig are invalid. Expects absolute
 * paths. Unused parts may be invalid.
 */
export function validateKubeconfig(document: KubeconfigDocument): void {
  const problems = [...contextProblems(document), ...userProblems(document)]
  const { cluster, clusterName } = document
  if (cluster !== undefined && Object.keys(cluster).length > 0) problems.push(...clusterProblems(clusterName, cluster))
  else problems.push(problems.length === 0 ? NO_CONFIGURATION : 'cluster has no server defined')
  if (problems.length === 0) return
  throw new Error(`invalid configuration: ${problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`}`)
}

function contextProblems({ currentContext, contextFound }: KubeconfigDocument): string[] {
  if (currentContext === '' || contextFound) return []
  return [`context was not found for specified context: ${currentContext}`]
}

type Types = Readonly<Record<'string' | 'boolean', readonly string[]>>

const CLUSTER_TYPES: Types = {
  string: ['server', 'tls-server-name', 'certificate-authority', 'certificate-authority-data', 'proxy-url'],
  boolean: ['insecure-skip-tls-verify'],
}
const USER_TYPES: Types = {
  string: [
    'client-certificate',
    'client-certificate-data',
    'client-key',
    'client-key-data',
    'token',
    'tokenFile',
    'username',
    'password',
    'as',
    'as-uid',
  ],
  boolean: [],
}

/** Returns the errors for fields of a wrong type. A token of digits without quotes is a number and may lose digits. */
function typeProblems(fields: KubeconfigFields, types: Types, owner: string): string[] {
  return (['string', 'boolean'] as const).flatMap((expectedType) =>
    types[expectedType].flatMap((name) => {
      const value = fields[name] ?? undefined
      if (value === undefined || typeof value === expectedType) return []
      const is = Array.isArray(value) ? 'array' : typeof value
      return [`${name} of ${owner} is of type ${is}, and must be of type ${expectedType}`]
    }),
  )
}

function clusterProblems(name: string, cluster: KubeconfigFields): string[] {
  const problems = typeProblems(cluster, CLUSTER_TYPES, name)
  if (text(cluster, 'server') === '') {
    problems.push(name === '' ? 'default cluster has no server defined' : `no server found for cluster "${name}"`)
  }
  const proxy = text(cluster, 'proxy-url')
  const wrong = proxy === '' ? undefined : problemOf(() => parseProxy(proxy))
  if (wrong !== undefined) problems.push(`invalid 'proxy-url' "${redactedUrl(proxy)}" for cluster "${name}": ${wrong}`)
  const file = text(cluster, 'certificate-authority')
  if (file !== '' && text(cluster, 'certificate-authority-data') !== '') {
    const both = 'certificate-authority-data and certificate-authority are both specified'
    problems.push(`${both} for ${name}. certificate-authority-data will override.`)
  }
  return [...problems, ...unreadable('certificate-authority', file, name)]
}

function userProblems({ user, userName: name }: KubeconfigDocument): string[] {
  const methods: string[] = []
  if (text(user, 'token') !== '') methods.push('token')
  if (text(user, 'username') !== '' || text(user, 'password') !== '') methods.push('basicAuth')
  const problems = [
    ...typeProblems(user, USER_TYPES, name),
    ...certificateProblems(user, name),
    ...execProblems(user, name),
    ...providerProblems(user),
  ]
  const speaksFor = ['as-uid', 'as-groups', 'as-user-extra'].some((field) => Object.keys(user[field] ?? {}).length > 0)
  if (speaksFor && text(user, 'as') === '') {
    problems.push(`requesting uid, groups or user-extra for ${name} without impersonating a user`)
  }
  if (methods.length > 1) {
    const found = `more than one authentication method found for ${name}; found [${methods.join(' ')}]`
    problems.push(`${found}, only one is allowed`)
  }
  return problems
}

function certificateProblems(user: KubeconfigFields, name: string): string[] {
  const certificate = text(user, 'client-certificate')
  const certificateData = text(user, 'client-certificate-data')
  if (certificate === '' && certificateData === '') return []
  const key = text(user, 'client-key')
  const keyData = text(user, 'client-key-data')
  const problems: string[] = []
  if (certificate !== '' && certificateData !== '') {
    problems.push(`client-cert-data and client-cert are both specified for ${name}. client-cert-data will override.`)
  }
  if (key !== '' && keyData !== '') {
    problems.push(`client-key-data and client-key are both specified for ${name}; client-key-data will override`)
  }
  if (key === '' && keyData === '') {
    const missing = `client-key-data or client-key must be specified for ${name}`
    problems.push(`${missing} to use the clientCert authentication method.`)
  }
  return [...problems, ...unreadable('client-cert', certificate, name), ...unreadable('client-key', key, name)]
}

function execProblems(user: KubeconfigFields, name: string): string[] {
  if (user['exec'] === undefined || user['exec'] === null) return []
  const exec = mapping(user, 'exec')
  return ['command', 'apiVersion']
    .filter((field) => text(exec, field) === '')
    .map((field) => `${field} must be specified for ${name} to use exec authentication plugin`)
}

/** Returns an error for the legacy providers of cloud vendors, which the Go sidecars do not support either. */
function providerProblems(user: KubeconfigFields): string[] {
  const provider = mapping(user, 'auth-provider')
  const name = text(provider, 'name')
  if (name === '' || text(mapping(provider, 'config'), 'tokenFile') !== '') return []
  return [`no Auth Provider found for name "${name}"`]
}

function unreadable(kind: string, path: string, owner: string): string[] {
  if (path === '') return []
  try {
    readFileSync(path)
    return []
  } catch (error) {
    return [`unable to read ${kind} ${path} for ${owner} due to ${fileError(error, path).message}`]
  }
}

function problemOf(attempt: () => unknown): string | undefined {
  try {
    attempt()
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}
