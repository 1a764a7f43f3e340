import { type Clock, systemClock } from '@csi-sidecars/base'
import { type SelfSigned, selfSignedCertificate } from '@csi-sidecars/base/self-signed'
import type { HandlerParts } from './handler.ts'
import { kubeconfigText } from './http/kubeconfig.ts'
import { openListener, type PortListener } from './http/listener.ts'
import { handlerParts, InProcessServer, type InProcessServerOptions } from './in-process-server.ts'
import { Store } from './storage/store.ts'
import { newUid } from './storage/uid.ts'

/** The options of a server. All have defaults. */
export interface ApiServerOptions extends InProcessServerOptions {
  /** The port. By default, and with 0, any free port. */
  readonly port?: number
  /**
   * Serves HTTPS with a self-signed certificate. Over plain HTTP, a request without a token has the rights of the
   * administrator, because Go clients send no token over plain HTTP.
   */
  readonly tls?: boolean
  /** Host names by which clients may call the server, in addition to localhost and IP addresses. */
  readonly hostNames?: readonly string[]
}

/**
 * An API server that listens on this machine.
 *
 * Guarantees: it answers the requests of testing/conformance as kube-apiserver v1.36.3 does. Writes never overlap.
 *
 * Caveats: it knows fixed kinds only, and no server-side apply. No controller runs in it, except the one that empties
 * deleted namespaces. Writes by `create`, `update` and `edit` are not validated.
 *
 * Errors: `startApiServer` rejects if the port is taken. No request ends the process.
 */
export class ApiServer extends InProcessServer implements AsyncDisposable {
  readonly url: string
  readonly port: number
  /** The token of the administrator. */
  readonly token: string
  readonly #listener: PortListener
  readonly #authority: string | undefined

  constructor(deps: HandlerParts, how: { listener: PortListener; token: string; authority: string | undefined }) {
    super(deps)
    this.url = how.listener.url
    this.port = how.listener.port
    this.token = how.token
    this.#listener = how.listener
    this.#authority = how.authority
    how.listener.serve((request, response) => this.serve(request, response))
  }

  /** Returns a kubeconfig of the administrator. */
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
  const deps = handlerParts(store, { ...options, adminToken: token, open: secure === undefined })
  const listener = await openListener({ port: options.port ?? 0, secure, hostNames })
  return new ApiServer(deps, { listener, token, authority: secure?.cert })
}

/** Returns a self-signed certificate for 127.0.0.1, localhost and the host names. */
function certificateOf(clock: Clock, hostNames: readonly string[]): SelfSigned {
  const who = { commonName: 'emulator', dnsNames: ['localhost', ...hostNames], addresses: [[127, 0, 0, 1]] }
  return selfSignedCertificate({ ...who, now: clock.now(), days: 365 })
}
