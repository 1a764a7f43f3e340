import {
  type Authorization,
  bearer,
  type ClientCertificate,
  type ConfigSources,
  type Credentials,
} from './cluster-config.ts'
import { type PluginAnswer, runPlugin } from './exec-plugin.ts'
import { type KubeconfigFields, mapping, text } from './kubeconfig-document.ts'

/**
 * The credentials that an exec plugin of a kubeconfig prints: a token, a client certificate or both. The plugin runs
 * again if they expire or the server refuses them.
 */
export class ExecCredentials implements Credentials {
  readonly #exec: KubeconfigFields
  readonly #info: string
  readonly #sources: ConfigSources
  /** The last answer, even if it has expired or was refused. New connections may still use its certificate. */
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

  async refused(used: Authorization): Promise<boolean> {
    const before = this.#answer
    // If the credentials have changed, the plugin has already run again for another caller with the same refusal.
    if (before !== undefined && authorizationOf(before) === used) this.#refused = true
    const after = await this.#valid()
    return authorizationOf(after) !== used || after.certificate?.cert !== before?.certificate?.cert
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

  /** Runs the plugin. Callers that come while it runs wait for the same run. */
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
  const about = {
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
    spec: { interactive: false, ...(exec['provideClusterInfo'] === true && { cluster: about }) },
  })
}

function clusterExtension(cluster: KubeconfigFields): unknown {
  const all = cluster['extensions']
  if (!Array.isArray(all)) return undefined
  const found = all.find((each) => text(each, 'name') === 'client.authentication.k8s.io/exec')
  return found === undefined ? undefined : mapping(found, 'extension')
}
