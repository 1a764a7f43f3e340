import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Clock, messageOf, systemClock } from '@csi-sidecars/base'
import { type Logger, silentLogger } from '@csi-sidecars/telemetry'
import { type DataKeeper, keepData } from '../data-keeper.ts'
import { newUid } from '../uid.ts'
import { Authentication, type TokenGrant } from './authentication.ts'
import { bootstrap } from './bootstrap.ts'
import { selfSignedCertificate } from './certificate.ts'
import type { HistoryLimits } from './collection.ts'
import { DirectAccess } from './direct-access.ts'
import { createFaults, type FaultRule, type Faults } from './faults.ts'
import { type HandlerParts, handle } from './handler.ts'
import { kubeconfigText } from './kubeconfig.ts'
import { type Listener, openListener } from './listener.ts'
import { keepNamespaces } from './namespace-keeper.ts'
import type { Registry } from './registry.ts'
import { RequestLog } from './request-log.ts'
import { readSnapshot, restore, saveSnapshot } from './snapshot.ts'
import { Store } from './store.ts'
import { Watches } from './watches.ts'

export interface ApiServerOptions {
  readonly clock?: Clock
  readonly log?: Logger
  /** 0 or absent: any free one. */
  readonly port?: number
  /**
   * Serve HTTPS with a certificate of its own. Go clients, and those that imitate them, send no token over plain HTTP;
   * so without TLS a request that carries none is the administrator's.
   */
  readonly tls?: boolean
  readonly adminToken?: string
  /** Tokens of others; what they may do is up to roles and their bindings. */
  readonly tokens?: readonly TokenGrant[]
  readonly faults?: readonly FaultRule[]
  /** A file that keeps the objects across runs. */
  readonly data?: string
  /** How much of the past is kept for watches and list pages, for each kind. */
  readonly history?: HistoryLimits
  readonly bookmarkMs?: number
}

const BOOKMARK_MS = 60_000
const STALL_MS = 30_000
/** How long a change may be unsaved. */
const SAVE_DELAY_MS = 1_000

/** A running API server, and the way to look into it without HTTP. */
export class ApiServer extends DirectAccess implements AsyncDisposable {
  readonly url: string
  readonly port: number
  /** The administrator's. */
  readonly token: string
  readonly requests: RequestLog
  readonly faults: Faults
  readonly #store: Store
  readonly #watches: Watches
  readonly #authority: string | undefined
  readonly #close: () => Promise<void>

  constructor(
    parts: HandlerParts,
    how: { listener: Listener; token: string; authority: string | undefined; close: () => Promise<void> },
  ) {
    super(parts.registry)
    this.url = how.listener.url
    this.port = how.listener.port
    this.token = how.token
    this.requests = parts.requests
    this.faults = parts.faults
    this.#store = parts.registry.store
    this.#watches = parts.watches
    this.#authority = how.authority
    this.#close = how.close
  }

  /** Of the newest write. */
  get resourceVersion(): string {
    return String(this.#store.revision)
  }

  get openWatches(): number {
    return this.#watches.size
  }

  /** A kubeconfig of the administrator, as YAML. */
  kubeconfig(): string {
    return kubeconfigText({ url: this.url, token: this.token, ca: this.#authority })
  }

  /** Ends all open watches, or those of one kind, as a restart of the server does. */
  dropWatches({
    resource,
    how = 'close',
  }: {
    resource?: { group: string; plural: string }
    how?: 'close' | 'cut'
  } = {}): void {
    this.#watches.drop(how, resource && this.kindOf(resource))
  }

  /** Forgets the past: watches and list pages from before get 410. */
  compact(): void {
    this.#store.compact()
  }

  stop(): Promise<void> {
    return this.#close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close()
  }
}

export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const { clock = systemClock, log = silentLogger } = options
  const { adminToken: token = newUid(clock) } = options
  const secure = options.tls === true ? selfSignedCertificate(clock.now()) : undefined
  const store = await openStore(options)
  const registry: Registry = { store, clock }
  bootstrap(registry)
  const grants = options.tokens ?? []
  const parts: HandlerParts = {
    registry,
    authentication: new Authentication({ clock, adminToken: token, grants, open: secure === undefined }),
    watches: new Watches(store, clock, { bookmarkMs: options.bookmarkMs ?? BOOKMARK_MS, stallMs: STALL_MS }),
    requests: new RequestLog(clock),
    faults: createFaults(clock, options.faults),
    log,
  }
  const leaveNamespaces = keepNamespaces(registry)
  const keeper = options.data === undefined ? undefined : keepStore(store, options.data, { clock, log })
  const listener = await openListener({ port: options.port ?? 0, secure, serve: (...both) => serve(parts, ...both) })
  const close = async (): Promise<void> => {
    leaveNamespaces()
    await listener.close()
    await keeper?.close()
  }
  return new ApiServer(parts, { listener, token, authority: secure?.cert, close })
}

async function openStore({ data, history }: ApiServerOptions): Promise<Store> {
  const saved = data === undefined ? undefined : await readSnapshot(data)
  const store = new Store({
    ...(history === undefined ? {} : { history }),
    ...(saved === undefined ? {} : { startsAt: saved.resourceVersion }),
  })
  if (saved !== undefined) restore(store, saved)
  return store
}

function keepStore(store: Store, file: string, parts: { clock: Clock; log: Logger }): DataKeeper {
  const keeper = keepData({ ...parts, delayMs: SAVE_DELAY_MS, save: () => saveSnapshot(store, file) })
  for (const collection of store.collections) collection.subscribe(() => keeper.touch())
  keeper.touch()
  return keeper
}

function serve(parts: HandlerParts, request: IncomingMessage, response: ServerResponse): void {
  handle(parts, request, response).catch((error: unknown) => {
    parts.log.error(error, 'Connection broke', { path: request.url, reason: messageOf(error) })
    response.destroy()
  })
}
