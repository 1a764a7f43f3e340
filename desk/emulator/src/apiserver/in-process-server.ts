import { type Clock, messageOf, systemClock } from '@csi-sidecars/base'
import { type Logger, silentLogger } from '@csi-sidecars/telemetry'
import { createFaults, type Faults, type RequestRule } from '../faults/request-faults.ts'
import { Authentication, type TokenGrant } from './access/authentication.ts'
import { DirectAccess } from './direct-access.ts'
import { type HandlerParts, handle } from './handler.ts'
import type { HttpRequest, HttpResponse } from './http/exchange.ts'
import { type LocalReader, LocalResponse } from './http/local-response.ts'
import { RequestLog } from './request-log.ts'
import { kindNamed } from './schema/kinds.ts'
import { bootstrap } from './storage/bootstrap.ts'
import type { HistoryLimits } from './storage/collection.ts'
import { Store } from './storage/store.ts'
import { newUid } from './storage/uid.ts'
import { runNamespaceController } from './verbs/namespace-controller.ts'
import { Watches } from './watch/watches.ts'

/** The options of a server without a socket. */
export interface InProcessServerOptions {
  readonly clock?: Clock
  readonly log?: Logger
  readonly adminToken?: string
  /** The tokens of other users. RBAC roles and bindings grant the permissions of these users. */
  readonly tokens?: readonly TokenGrant[]
  readonly faults?: readonly RequestRule[]
  /** The limits of the change history of each kind, which watches and list pages use. */
  readonly history?: HistoryLimits
  /** The number of requests that the log keeps with their bodies. With 0 the log only counts requests. */
  readonly keptRequests?: number | undefined
  /** False if the server stores updates without validation. */
  readonly validates?: boolean
  /** The kinds that the server does not serve, like a cluster without their CRDs. */
  readonly absent?: readonly ResourceName[]
}

/** The group and the plural of a kind. */
interface ResourceName {
  readonly group: string
  readonly plural: string
}

/** A request from this process. Without a token it has the rights of the administrator. */
export interface LocalRequest {
  readonly method: string
  /** The path with its query. */
  readonly path: string
  readonly body?: { readonly type: string; readonly text: string } | undefined
  readonly userAgent?: string | undefined
  readonly token?: string | undefined
}

const BOOKMARK_MS = 60_000
const STALL_MS = 30_000

/** An API server without a socket. Its objects are also accessible without requests. */
export class InProcessServer extends DirectAccess {
  readonly requests: RequestLog
  readonly faults: Faults
  readonly #deps: HandlerParts
  readonly #stopNamespaceController: () => void

  constructor(deps: HandlerParts) {
    super(deps.registry)
    this.#deps = deps
    this.requests = deps.requests
    this.faults = deps.faults
    this.#stopNamespaceController = runNamespaceController(deps.registry)
  }

  /** The `resourceVersion` of the newest write. */
  get resourceVersion(): string {
    return String(this.#deps.registry.store.revision)
  }

  get openWatches(): number {
    return this.#deps.watches.size
  }

  /** Ends all open watches, or the watches of one kind, as a restart of the server does. */
  dropWatches({
    resource,
    how = 'close',
  }: {
    resource?: { group: string; plural: string }
    how?: 'close' | 'cut'
  } = {}): void {
    this.#deps.watches.drop(how, resource && this.kindOf(resource))
  }

  /** Compacts the history: older watches and list pages get 410. */
  compact(): void {
    this.#deps.registry.store.compact()
  }

  /** Serves one request of this process. The returned function disconnects the client. */
  exchange(request: LocalRequest, reader: LocalReader): () => void {
    const { method, path, body, userAgent, token } = request
    const headers = {
      authorization: token === undefined ? undefined : `Bearer ${token}`,
      'content-type': body?.type,
      'user-agent': userAgent,
    }
    const response = new LocalResponse(reader)
    this.serve({ method, url: path, headers, [Symbol.asyncIterator]: () => bytesOf(body?.text) }, response)
    return () => response.destroy()
  }

  serve(request: HttpRequest, response: HttpResponse): void {
    handle(this.#deps, request, response).catch((error: unknown) => {
      this.#deps.log.error(error, 'Connection broke', { path: request.url, reason: messageOf(error) })
      response.destroy()
    })
  }

  /** Ends all watches and cancels all timers. */
  async stop(): Promise<void> {
    this.#stopNamespaceController()
    this.#deps.watches.drop('cut')
  }
}

async function* bytesOf(text = ''): AsyncGenerator<Uint8Array> {
  if (text !== '') yield Buffer.from(text)
}

export function createInProcessServer(options: InProcessServerOptions = {}): InProcessServer {
  const store = new Store(options.history === undefined ? {} : { history: options.history })
  return new InProcessServer(handlerParts(store, { ...options, open: true }))
}

/** If `open` is true, a request without a token has the rights of the administrator. */
export function handlerParts(store: Store, options: InProcessServerOptions & { readonly open: boolean }): HandlerParts {
  const { clock = systemClock, log = silentLogger, adminToken = newUid(clock), tokens: grants = [], open } = options
  const { absent = [] } = options
  const registry = {
    store,
    clock,
    validates: options.validates !== false,
    absent: new Set(absent.map(kindNamed)),
  }
  bootstrap(registry)
  return {
    registry,
    authentication: new Authentication({ clock, adminToken, grants, open }),
    watches: new Watches(store, clock, { bookmarkMs: BOOKMARK_MS, stallMs: STALL_MS }),
    requests: new RequestLog(clock, options.keptRequests),
    faults: createFaults(clock, options.faults),
    log,
  }
}
