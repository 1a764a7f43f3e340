import { type Clock, systemClock } from '@csi-sidecars/base'
import { type SelfSigned, selfSignedCertificate } from '@csi-sidecars/base/self-signed'
import type { HandlerParts } from './handler.ts'
import { kubeconfigText } from './http/kubeconfig.ts'
import { openListener, type PortListener } from './http/listener.ts'
import { handlerParts, InProcessServer, type InProcessServerOptions } from './in-process-server.ts'
import { Store } from './storage/store.ts'
import { newUid } from './storage/uid.ts'

export interface ApiServerOptions extends InProcessServerOptions {
  /** 0 or absent: any free one. */
  readonly port?: number
  /**
   * Serves HTTPS with a self-signed certificate. Without TLS a request that carries no token is the administrator's,
   * because Go clients send no token over plain HTTP.
   */
  readonly tls?: boolean
  /** Names by which clients may call it, besides localhost and IP addresses. */
  readonly hostNames?: readonly string[]
}

/**
 * An API server that listens on this machine.
 *
 * Guarantees: it answers the requests of testing/conformance as kube-apiserver v1.36.3 does. A write takes effect
 * between two other writes, never inside one.
 *
 * Caveats: it knows fixed kinds only, and no server-side apply. No controller runs in it, except the one that empties
 * deleted namespaces. Writes by `create`, `update` and `edit` are not validated.
 *
 * Errors: `startApiServer` rejects if the port is taken. A request never fails the
 * process.
 */
export class ApiServer extends InProcessServer implements AsyncDisposable {
  readonly url: string
  readonly port: number
  /** The administrator's. */
  readonly token: string
  readonly #listener: PortListener
  readonly #authority: string | undefined

  constructor(parts: HandlerParts, how: { listener: PortListener; token: string; authority: string | undefined }) {
    super(parts)
    this.url = how.listener.url
    this.port = how.listener.port
    this.token = how.token
    this.#listener = how.listener
    this.#authority = how.authority
    how.listener.serve((request, response) => this.serve(request, response))
  }

  /** A kubeconfig of the administrator, as YAML. */
  kubeconfig(): string {
    return kubeconfigText({ url: this.url, token: this.token, ca: this.#authority })
  }

  override async stop(): Promise<void> {
    await this.#listener.close()
    await super.stop()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }
}

export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const { clock = systemClock, history } = options
  const { adminToken: token = newUid(clock), hostNames = [] } = options
  const secure = options.tls === true ? certificateOf(clock, hostNames) : undefined
  const store = new Store(history === undefined ? {} : { history })
  const parts = handlerParts(store, { ...options, adminToken: token, open: secure === undefined })
  const listener = await openListener({ port: options.port ?? 0, secure, hostNames })
  return new ApiServer(parts, { listener, token, authority: secure?.cert })
}

/** The certificate for this machine. */
function certificateOf(clock: Clock, hostNames: readonly string[]): SelfSigned {
  const who = { commonName: 'emulator', dnsNames: ['localhost', ...hostNames], addresses: [[127, 0, 0, 1]] }
  return selfSignedCertificate({ ...who, now: clock.now(), days: 365 })
}
