import { type SpawnOptions, spawn } from 'node:child_process'
import { messageOf, systemCodeOf } from '@csi-sidecars/base'
import { ExecAuth } from '@kubernetes/client-node/dist/exec_auth.js'
import type { Authorization, Certificate, Credentials } from './credentials.ts'
import { type Fields, mapping, text } from './kubeconfig-document.ts'

interface Answer {
  readonly authorization: Authorization
  readonly certificate: { readonly cert: string; readonly key: string } | undefined
}

const INFO_VARIABLE = 'KUBERNETES_EXEC_INFO'

/** What a plugin prints: a token, a client certificate or both. Asked again once that expires or the server refuses it. */
export class ExecCredentials implements Credentials {
  readonly #exec: Fields
  #plugin: Plugin
  #certificate: Certificate | undefined

  constructor(exec: Fields, cluster: Fields) {
    this.#exec = { ...exec, env: [...variables(exec), { name: INFO_VARIABLE, value: execInfo(exec, cluster) }] }
    this.#plugin = new Plugin(this.#exec)
  }

  async authorization(): Promise<Authorization> {
    const { authorization, certificate } = await this.#plugin.ask()
    this.#certificate = certificate
    return authorization
  }

  async refused(used: Authorization): Promise<boolean> {
    const certificate = this.#certificate?.cert
    // Unless somebody else who was refused the same is asking, or has asked, already.
    const { last } = this.#plugin
    if (last !== undefined && last.authorization === used) this.#plugin = new Plugin(this.#exec)
    return (await this.authorization()) !== used || this.#certificate?.cert !== certificate
  }

  certificate(): Certificate | undefined {
    return this.#certificate
  }
}

/** Runs the plugin and keeps its answer until that expires. Who asks while it runs waits for the same run. */
class Plugin {
  readonly #exec: Fields
  readonly #auth = new ExecAuth()
  #running: Promise<Answer> | undefined
  /** What it said last. */
  last: Answer | undefined

  constructor(exec: Fields) {
    this.#exec = exec
    // A plugin that asks a person for a password must find out that nobody is there.
    const withoutInput = (command: string, args: readonly string[], options: SpawnOptions) =>
      spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    // The way client-node's own tests stand in for `spawn`; it has no other.
    Object.assign(this.#auth, { execFn: withoutInput })
  }

  ask(): Promise<Answer> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #run(): Promise<Answer> {
    const options: { headers?: Record<string, string>; cert?: string; key?: string } = {}
    try {
      await this.#auth.applyAuthentication({ name: 'user', exec: this.#exec }, options)
    } catch (error) {
      throw new Error(`getting credentials: ${execMessage(error, text(this.#exec, 'command'))}`, { cause: error })
    }
    const { cert, key, headers } = options
    const certificate = cert !== undefined && key !== undefined ? { cert, key } : undefined
    this.last = { authorization: headers?.['Authorization'], certificate }
    return this.last
  }
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
