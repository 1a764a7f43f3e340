import { messageOf, systemCodeOf } from '@csi-sidecars/base'
import { KubeConfig } from '@kubernetes/client-node/dist/config.js'
import type { Authorization, Certificate, Credentials } from './credentials.ts'
import { type Fields, mapping, text } from './kubeconfig-document.ts'

interface HttpsOptions {
  headers?: Record<string, string>
  cert?: string
  key?: string
}

const INFO_VARIABLE = 'KUBERNETES_EXEC_INFO'

/**
 * What a plugin prints: a token, a client certificate or both. KubeConfig runs it and keeps its answer until that
 * expires; here the answer is also thrown away when the server refuses it.
 */
export class ExecCredentials implements Credentials {
  readonly #exec: Fields
  #config: KubeConfig
  #certificate: Certificate | undefined

  constructor(exec: Fields, cluster: Fields) {
    this.#exec = { ...exec, env: [...variables(exec), { name: INFO_VARIABLE, value: execInfo(exec, cluster) }] }
    this.#config = freshConfig(this.#exec)
  }

  async authorization(): Promise<Authorization> {
    const options: HttpsOptions = {}
    try {
      await this.#config.applyToHTTPSOptions(options)
    } catch (error) {
      throw new Error(`getting credentials: ${execMessage(error, text(this.#exec, 'command'))}`, { cause: error })
    }
    const { cert, key, headers } = options
    this.#certificate = cert !== undefined && key !== undefined ? { cert, key } : undefined
    return headers?.['Authorization']
  }

  async refused(used: Authorization): Promise<boolean> {
    const certificate = this.#certificate?.cert
    this.#config = freshConfig(this.#exec)
    return (await this.authorization()) !== used || this.#certificate?.cert !== certificate
  }

  certificate(): Certificate | undefined {
    return this.#certificate
  }
}

/** Its authenticators remember answers for as long as they live, so a new one asks the plugin again. */
function freshConfig(exec: Fields): KubeConfig {
  const config = new KubeConfig()
  config.loadFromClusterAndUser(
    { name: 'cluster', server: 'https://unused', skipTLSVerify: false },
    { name: 'user', exec },
  )
  return config
}

function variables(exec: Fields): unknown[] {
  return Array.isArray(exec['env']) ? exec['env'] : []
}

/** Plugins learn from it which version to answer in, and where they ask for it, about the cluster. */
function execInfo(exec: Fields, cluster: Fields): string {
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

function clusterExtension(cluster: Fields): unknown {
  const all = cluster['extensions']
  if (!Array.isArray(all)) return undefined
  const found = all.find((each) => text(each, 'name') === 'client.authentication.k8s.io/exec')
  return found === undefined ? undefined : mapping(found, 'extension')
}

function execMessage(error: unknown, command: string): string {
  if (systemCodeOf(error) === 'ENOENT') return `exec: executable ${command} not found`
  const [first = ''] = messageOf(error).trim().split('\n', 1)
  return `exec: executable ${command} failed: ${first}`
}
