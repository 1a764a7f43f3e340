import { type Clock, systemClock } from '@csi-sidecars/base'
import { type SelfSigned, selfSignedCertificate } from '@csi-sidecars/base/self-signed'
import { type Logger, silentLogger } from '@csi-sidecars/telemetry'
import type { HandlerParts } from './handler.ts'
import { kubeconfigText } from './http/kubeconfig.ts'
import { openListener, type PortListener } from './http/listener.ts'
import { handlerParts, InProcessServer, type InProcessServerOptions } from './in-process-server.ts'
import { DataFile } from './storage/data-file.ts'
import { Saver } from './storage/saver.ts'
import { restore, type SavedObjects, snapshotText } from './storage/snapshot.ts'
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
  /** A file that keeps the objects across runs. A write is answered after it is saved. */
  readonly data?: string
}

/** How long a change that no request waits for may stay unsaved. */
const SAVE_DELAY_MS = 1_000

/**
 * An API server that listens on this machine.
 *
 * Guarantees: it answers the requests of testing/conformance as kube-apiserver v1.36.3 does. A write takes effect
 * between two other writes, never inside one. With a data file a write is answered after it is saved.
 *
 * Caveats: it knows fixed kinds only, and no server-side apply. No controller runs in it, except the one that empties
 * deleted namespaces. Writes by `create`, `update` and `edit` are not validated.
 *
 * Errors: `startApiServer` rejects if the port is taken or the data file cannot be read. A request never fails the
 * process.
 */
export class ApiServer extends InProcessServer implements AsyncDisposable {
  readonly url: string
  readonly port: number
  /** The administrator's. */
  readonly token: string
  readonly #listener: PortListener
  readonly #authority: string | undefined
  readonly #saver: Saver | undefined

  constructor(
    parts: HandlerParts,
    how: { listener: PortListener; token: string; authority: string | undefined; saver: Saver | undefined },
  ) {
    super(parts)
    this.url = how.listener.url
    this.port = how.listener.port
    this.token = how.token
    this.#listener = how.listener
    this.#authority = how.authority
    this.#saver = how.saver
    how.listener.serve((request, response) => this.serve(request, response))
  }

  /** A kubeconfig of the administrator, as YAML. */
  kubeconfig(): string {
    return kubeconfigText({ url: this.url, token: this.token, ca: this.#authority })
  }

  override async stop(): Promise<void> {
    await this.#listener.close()
    await super.stop()
    await this.#saver?.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }
}

export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const { clock = systemClock, log = silentLogger } = options
  const { adminToken: token = newUid(clock), data, hostNames = [] } = options
  const secure = options.tls === true ? certificateOf(clock, hostNames) : undefined
  const kept = data === undefined ? undefined : await DataFile.open(data, clock)
  const store = openStore(options, kept?.snapshot)
  const parts = handlerParts(store, { ...options, adminToken: token, open: secure === undefined })
  if (kept !== undefined && kept.snapshot === undefined) await kept.file.write(snapshotText(store))
  const saver = kept === undefined ? undefined : saverOf(store, kept.file, { clock, log })
  const listener = await openListener({ port: options.port ?? 0, secure, hostNames })
  const saved = saver === undefined ? {} : { saved: () => saver.saved() }
  return new ApiServer({ ...parts, ...saved }, { listener, token, authority: secure?.cert, saver })
}

/** The certificate for this machine. */
function certificateOf(clock: Clock, hostNames: readonly string[]): SelfSigned {
  const who = { commonName: 'emulator', dnsNames: ['localhost', ...hostNames], addresses: [[127, 0, 0, 1]] }
  return selfSignedCertificate({ ...who, now: clock.now(), days: 365 })
}

function openStore({ history }: ApiServerOptions, snapshot: SavedObjects | undefined): Store {
  const store = new Store({
    ...(history === undefined ? {} : { history }),
    ...(snapshot === undefined ? {} : { startsAt: snapshot.resourceVersion }),
  })
  if (snapshot !== undefined) restore(store, snapshot)
  return store
}

function saverOf(store: Store, file: DataFile, parts: { clock: Clock; log: Logger }): Saver {
  const revision = (): number => store.revision
  const save = (): Promise<void> => file.write(snapshotText(store))
  const saver = new Saver({ ...parts, delayMs: SAVE_DELAY_MS, revision, save }, revision())
  for (const collection of store.collections) collection.subscribe(() => saver.changed())
  return saver
}
