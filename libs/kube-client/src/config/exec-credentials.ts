import { isError, messageOf, systemCodeOf } from '@csi-sidecars/base'
import {
  type Authorization,
  bearer,
  type ClientCertificate,
  type ConfigSources,
  type Credentials,
} from './cluster-config.ts'
import { type KubeconfigFields, mapping, text, texts } from './kubeconfig-document.ts'

/**
 * The credentials that an exec plugin of a kubeconfig prints: a token, a client certificate or both. The plugin runs
 * again if they expire or the server refuses them.
 */
export class ExecCredentials implements Credentials {
  readonly #exec: KubeconfigFields
  readonly #info: string
  readonly #sources: ConfigSources
  /** The last credentials from the plugin, even if expired or refused. New connections still use their certificate. */
  #answer: PluginAnswer | undefined
  #refused = false
  #running: Promise<PluginAnswer> | undefined

  constructor(exec: KubeconfigFields, cluster: KubeconfigFields, sources: ConfigSources) {
    this.#exec = exec
    this.#info = execInfo(exec, cluster)
    this.#sources = sources
  }

  async authorization(): Promise<Authorization> {
    return authorizationOf(await this.#valid())
  }

  async replaceRefused(rejected: Authorization): Promise<boolean> {
    const before = this.#answer
    // The plugin need not run again if it has already replaced the refused credentials.
    if (before !== undefined && authorizationOf(before) === rejected) this.#refused = true
    const after = await this.#valid()
    return authorizationOf(after) !== rejected || after.certificate?.cert !== before?.certificate?.cert
  }

  certificate(): ClientCertificate | undefined {
    return this.#answer?.certificate
  }

  #valid(): PluginAnswer | Promise<PluginAnswer> {
    const answer = this.#answer
    if (answer === undefined || this.#refused) return this.#ask()
    const { expiresAt = Number.POSITIVE_INFINITY } = answer
    return this.#sources.clock.now() < expiresAt ? answer : this.#ask()
  }

  /** Runs the plugin. Concurrent callers wait for the same run. */
  #ask(): Promise<PluginAnswer> {
    this.#running ??= runPlugin(this.#exec, this.#info, this.#sources.env)
      .then(
        (answer) => {
          this.#answer = answer
          this.#refused = false
          return answer
        },
        (error: Error) => {
          throw new Error(`getting credentials: ${error.message}`)
        },
      )
      .finally(() => {
        this.#running = undefined
      })
    return this.#running
  }
}

function authorizationOf({ token }: PluginAnswer): Authorization {
  return token === '' ? undefined : bearer(token)
}

/** Returns the input of the plugin: the API version for its answer and, if the kubeconfig requests it, the cluster. */
function execInfo(exec: KubeconfigFields, cluster: KubeconfigFields): string {
  const clusterInfo = {
    server: text(cluster, 'server'),
    'tls-server-name': text(cluster, 'tls-server-name') || undefined,
    'insecure-skip-tls-verify': cluster['insecure-skip-tls-verify'] === true || undefined,
    'certificate-authority-data': text(cluster, 'certificate-authority-data') || undefined,
    'proxy-url': text(cluster, 'proxy-url') || undefined,
    config: clusterExtension(cluster),
  }
  return JSON.stringify({
    apiVersion: text(exec, 'apiVersion'),
    kind: 'ExecCredential',
    spec: { interactive: false, ...(exec['provideClusterInfo'] === true && { cluster: clusterInfo }) },
  })
}

function clusterExtension(cluster: KubeconfigFields): unknown {
  const all = cluster['extensions']
  if (!Array.isArray(all)) return undefined
  const found = all.find((each) => text(each, 'name') === 'client.authentication.k8s.io/exec')
  return found === undefined ? undefined : mapping(found, 'extension')
}

interface PluginAnswer {
  readonly token: string
  readonly certificate: { readonly cert: string; readonly key: string } | undefined
  /** The expiry in milliseconds since 1970. Undefined if the credentials do not expire. */
  readonly expiresAt: number | undefined
}

/** Runs the plugin of an `exec` section once. Rejects with a one-line error that does not quote its output. */
async function runPlugin(exec: KubeconfigFields, info: string, env: NodeJS.ProcessEnv): Promise<PluginAnswer> {
  const command = text(exec, 'command')
  let printed: string
  try {
    printed = await outputOf(command, texts(exec, 'args'), { ...env, ...variables(exec), [INFO]: info })
  } catch (error) {
    throw new Error(failureOf(error, command), { cause: error })
  }
  return answerIn(printed, text(exec, 'apiVersion'))
}

const INFO = 'KUBERNETES_EXEC_INFO'

class ExitError extends Error {
  override readonly name = 'ExitError'
}

/** Returns the output of a plugin. It gets no input, so that a plugin that asks for a password fails at once. */
async function outputOf(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  // The module is loaded only when needed, because no other part of a sidecar starts processes.
  const { spawn } = await import('node:child_process')
  return await new Promise((resolve, reject) => {
    const plugin = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const out: Buffer[] = []
    const err: Buffer[] = []
    plugin.stdout.on('data', (bytes: Buffer) => out.push(bytes))
    plugin.stderr.on('data', (bytes: Buffer) => err.push(bytes))
    plugin.on('error', reject)
    plugin.on('close', (code, signal) => {
      if (code === 0) return resolve(Buffer.concat(out).toString('utf8'))
      const [first = ''] = Buffer.concat(err).toString('utf8').trim().split('\n', 1)
      reject(new ExitError(first === '' ? `exit code ${code ?? signal}` : first))
    })
  })
}

function failureOf(error: unknown, command: string): string {
  if (systemCodeOf(error) === 'ENOENT') return `exec: executable ${command} not found`
  return `exec: executable ${command} failed: ${isError(error) ? error.message : messageOf(error)}`
}

function variables(exec: KubeconfigFields): Record<string, string> {
  const all = exec['env']
  if (!Array.isArray(all)) return {}
  return Object.fromEntries(all.map((each) => [text(each, 'name'), text(each, 'value')]))
}

/** Reads the credentials in a plugin's output. Errors have the text of client-go and quote only the version. */
function answerIn(printed: string, expectedType: string): PluginAnswer {
  const credential = parsed(printed)
  const version = text(credential, 'apiVersion')
  if (text(credential, 'kind') !== 'ExecCredential') throw new Error('decoding stdout: it is no ExecCredential')
  if (version !== expectedType) {
    const returned = /^client\.authentication\.k8s\.io\/v\d\w*$/.test(version) ? version : 'another'
    throw new Error(`exec plugin is configured to use API version ${expectedType}, plugin returned version ${returned}`)
  }
  if (credential['status'] == null) throw new Error("exec plugin didn't return a status field")
  const status = mapping(credential, 'status')
  const token = text(status, 'token')
  const cert = text(status, 'clientCertificateData')
  const key = text(status, 'clientKeyData')
  if (token === '' && cert === '' && key === '') throw new Error("exec plugin didn't return a token or cert/key pair")
  if ((cert === '') !== (key === '')) throw new Error('exec plugin returned only certificate or key, not both')
  const expiresAt = Date.parse(text(status, 'expirationTimestamp'))
  return {
    token,
    certificate: cert === '' ? undefined : { cert, key },
    expiresAt: Number.isNaN(expiresAt) ? undefined : expiresAt,
  }
}

/** Parses the output of a plugin. Replaces V8's error, which quotes the output: it may be the token itself. */
function parsed(printed: string): KubeconfigFields {
  try {
    return mapping({ credential: JSON.parse(printed) }, 'credential')
  } catch {
    throw new Error(`decoding stdout: ${Buffer.byteLength(printed)} bytes that are no JSON`)
  }
}
