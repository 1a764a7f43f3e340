import { readFileSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { createSecureContext } from 'node:tls'
import { isError, messageOf } from '@csi-sidecars/base'
import { goQuote } from '@csi-sidecars/telemetry'
import {
  basic,
  bearer,
  type ClientCertificate,
  type ClusterConfig,
  type ConfigSources,
  type Credentials,
  fixedCredentials,
  type ServerTrust,
} from './cluster-config.ts'
import { ExecCredentials } from './exec-credentials.ts'
import {
  documentOf,
  type KubeconfigDocument,
  type KubeconfigFields,
  mapping,
  parseKubeconfig,
  text,
  texts,
} from './kubeconfig-document.ts'
import { validateKubeconfig } from './kubeconfig-validation.ts'
import { environmentProxy, parseProxy, throughProxy } from './proxy.ts'
import { maySendCredentials, parseServer, redactedUrl } from './server-url.ts'
import { TokenFile } from './token-file.ts'
import { environmentRoots, fileError } from './trusted-roots.ts'

/** The files of a kubeconfig, and the values that replace parts of it. */
export interface KubeconfigOptions extends ConfigSources {
  /** The kubeconfig files, merged as by kubectl. Empty if only `master` is set. */
  readonly paths: readonly string[]
  /** The name of the context. Default: the current context. */
  readonly context?: string | undefined
  /** The URL of the API server, which replaces the server of the kubeconfig. Empty: no replacement. */
  readonly master: string
}

/** Returns the configuration of a context in a kubeconfig. Throws a one-line error about an invalid kubeconfig. */
export async function kubeconfigConfig(options: KubeconfigOptions): Promise<ClusterConfig> {
  const document = loadDocument(options)
  validateKubeconfig(document)
  const { user, cluster = {} } = document
  const written = text(cluster, 'server')
  const server = parseServer(written, wantsTls(cluster, user))
  if (server === undefined)
    return configThatFails(`host must be a URL or a host:port pair: ${goQuote(redactedUrl(written))}`)
  const { origin, basePath } = server
  const secure = origin.startsWith('https:')
  const proxyUrl = text(cluster, 'proxy-url')
  return {
    origin,
    basePath,
    tls: secure ? serverTrust(cluster, options.env) : undefined,
    credentials: maySendCredentials(origin) ? await credentialsOf(user, cluster, options) : fixedCredentials(undefined),
    headers: impersonation(user),
    namespace: document.namespace || undefined,
    proxy: proxyUrl === '' ? environmentProxy(origin, options.env) : throughProxy(parseProxy(proxyUrl)),
    check: () => {
      if (!secure) return
      checkAuthority(cluster)
      checkCertificate(user)
    },
  }
}

/** Returns the configuration for an invalid server address. Its `check` throws an error with the message. */
function configThatFails(message: string): ClusterConfig {
  return {
    origin: '',
    basePath: '',
    tls: undefined,
    credentials: fixedCredentials(undefined),
    headers: [],
    proxy: undefined,
    check: () => {
      throw new Error(message)
    },
  }
}

function loadDocument({ paths, context, master }: KubeconfigOptions): KubeconfigDocument {
  const document = withAbsolutePaths(documentOf(paths.map(readFile), context), paths)
  return master === '' ? document : { ...document, cluster: { ...document.cluster, server: master } }
}

function readFile(path: string): KubeconfigFields {
  try {
    statSync(path)
  } catch (error) {
    throw fileError(error, path, 'stat')
  }
  try {
    return parseKubeconfig(readFileSync(path, 'utf8'))
  } catch (error) {
    const cause = isError(error) && 'syscall' in error ? fileError(error, path) : error
    throw new Error(`error loading config file "${path}": ${messageOf(cause)}`, { cause: error })
  }
}

/** Makes paths relative to the kubeconfig file absolute. A command without a slash stays and is searched in PATH. */
function withAbsolutePaths(document: KubeconfigDocument, paths: readonly string[]): KubeconfigDocument {
  const { cluster, clusterFile, user, userFile } = document
  const folder = dirname(paths[userFile] ?? '')
  const exec = mapping(user, 'exec')
  return {
    ...document,
    cluster: cluster && resolvePaths(cluster, dirname(paths[clusterFile] ?? ''), ['certificate-authority']),
    user: {
      ...resolvePaths(user, folder, ['client-certificate', 'client-key', 'tokenFile']),
      ...(text(exec, 'command').includes('/') && { exec: resolvePaths(exec, folder, ['command']) }),
    },
  }
}

function resolvePaths(from: KubeconfigFields, folder: string, names: readonly string[]): KubeconfigFields {
  const paths = names.filter((name) => text(from, name) !== '' && !isAbsolute(text(from, name)))
  return { ...from, ...Object.fromEntries(paths.map((name) => [name, join(folder, text(from, name))])) }
}

/** Reports whether a server given as `host:port` uses https. */
function wantsTls(cluster: KubeconfigFields, user: KubeconfigFields): boolean {
  const authority = text(cluster, 'certificate-authority') + text(cluster, 'certificate-authority-data')
  const certificate = text(user, 'client-certificate') + text(user, 'client-certificate-data')
  return authority !== '' || certificate !== '' || cluster['insecure-skip-tls-verify'] === true
}

function serverTrust(cluster: KubeconfigFields, env: NodeJS.ProcessEnv): ServerTrust {
  return {
    authorities: pemSource(cluster, 'certificate-authority') ?? (() => environmentRoots(env)),
    serverName: text(cluster, 'tls-server-name') || undefined,
    insecure: cluster['insecure-skip-tls-verify'] === true,
  }
}

function checkAuthority(cluster: KubeconfigFields): void {
  const authorities = pemSource(cluster, 'certificate-authority')
  if (authorities === undefined) return
  if (cluster['insecure-skip-tls-verify'] === true) {
    throw new Error('specifying a root certificates file with the insecure flag is not allowed')
  }
  if (!authorities().includes('-----BEGIN CERTIFICATE-----')) {
    throw new Error('unable to load root certificates: unable to parse bytes as PEM block')
  }
}

/**
 * Chooses credentials in the order of clientcmd: exec plugin, token file, token, user and password. A client
 * certificate is added to any credentials except a plugin's.
 */
async function credentialsOf(
  user: KubeconfigFields,
  cluster: KubeconfigFields,
  sources: ConfigSources,
): Promise<Credentials> {
  const exec = mapping(user, 'exec')
  if (text(exec, 'command') !== '') return new ExecCredentials(exec, cluster, sources)
  const headers = await headerCredentials(user, sources)
  const cert = pemSource(user, 'client-certificate')
  const key = pemSource(user, 'client-key')
  if (cert === undefined || key === undefined) return headers
  const certificate = (): ClientCertificate => ({ cert: cert(), key: key() })
  return { ...withoutCertificate(headers), certificate }
}

async function headerCredentials(user: KubeconfigFields, { clock, log }: ConfigSources): Promise<Credentials> {
  // A token file, which may be renewed, takes precedence over a fixed token.
  const tokenFile = text(user, 'tokenFile') || text(mapping(mapping(user, 'auth-provider'), 'config'), 'tokenFile')
  if (tokenFile !== '') return TokenFile.open(tokenFile, { clock, log })
  const token = text(user, 'token').trim()
  if (token !== '') return fixedCredentials(bearer(token))
  const username = text(user, 'username')
  return fixedCredentials(username === '' ? undefined : basic(username, text(user, 'password')))
}

function withoutCertificate(credentials: Credentials): Omit<Credentials, 'certificate'> {
  return {
    authorization: () => credentials.authorization(),
    replaceRefused: (rejected) => credentials.replaceRefused(rejected),
  }
}

/** Returns a function that reads a PEM from the field `<name>-data`, or from the file in the field `<name>`. */
function pemSource(from: KubeconfigFields, name: string): (() => string) | undefined {
  const data = text(from, `${name}-data`)
  if (data !== '') return () => Buffer.from(data, 'base64').toString('utf8')
  const file = text(from, name)
  return file === '' ? undefined : () => readFileSync(file, 'utf8')
}

/**
 * Checks a certificate or key that the kubeconfig contains. Files are not checked here, because each connection reads
 * the current files.
 */
function checkCertificate(user: KubeconfigFields): void {
  if (text(user, 'client-certificate-data') + text(user, 'client-key-data') === '') return
  const cert = pemSource(user, 'client-certificate')
  const key = pemSource(user, 'client-key')
  if (cert === undefined || key === undefined) return
  try {
    createSecureContext({ cert: cert(), key: key() })
  } catch (error) {
    throw new Error(`unable to load client certificate: ${messageOf(error)}`, { cause: error })
  }
}

function impersonation(user: KubeconfigFields): (readonly [string, string])[] {
  const as = text(user, 'as')
  if (as === '') return []
  const headers: [string, string][] = [['Impersonate-User', as]]
  const uid = text(user, 'as-uid')
  if (uid !== '') headers.push(['Impersonate-Uid', uid])
  for (const group of texts(user, 'as-groups')) headers.push(['Impersonate-Group', group])
  const extra = mapping(user, 'as-user-extra')
  for (const name of Object.keys(extra)) {
    for (const value of texts(extra, name)) headers.push([`Impersonate-Extra-${encodeURIComponent(name)}`, value])
  }
  return headers
}
