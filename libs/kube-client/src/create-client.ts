import { createSecureContext, type SecureContext } from 'node:tls'
import { type Clock, messageOf } from '@csi-sidecars/base'
import { type Dial, dialer, NetworkError, openTcp, portOf, type TlsMaterial } from '@csi-sidecars/http1'
import {
  apiVersionOf,
  type KubeObject,
  type ObjectRef,
  PATCH_CONTENT_TYPES,
  type Patch,
  type Resource,
  resourcePath,
} from '@csi-sidecars/kube-types'
import type { Logger, Metrics, Tracer } from '@csi-sidecars/telemetry'
import {
  type ApiRequest,
  type DeleteOptions,
  type KubeClient,
  type ListOptions,
  type ListPage,
  type Projecting,
  query,
  type RequestOptions,
  type RereadListener,
  type SubresourceOption,
  type WatchFrame,
  type WatchOptions,
} from './api/client.ts'
import { parseAnswer } from './codec/decode.ts'
import type { ClusterConfig, Credentials, ServerTrust } from './config/cluster-config.ts'
import type { FlowOptions } from './flow/policy.ts'
import { listPages } from './requests/list.ts'
import { MissingPermissions } from './requests/missing-permissions.ts'
import type { ServerLimits } from './requests/refusals.ts'
import { RestMetrics } from './requests/rest-metrics.ts'
import { Transport } from './requests/transport.ts'
import { UnknownOutcomes } from './requests/unknown-outcomes.ts'
import { watchFrames } from './watch/watch.ts'

/** The server, the flow control and the log of a client. */
export interface KubeClientOptions {
  readonly config: ClusterConfig
  readonly flow: FlowOptions
  readonly clock: Clock
  readonly log: Logger
  readonly metrics?: Metrics | undefined
  /** The missing permissions of the process. Default: the client only logs its own. */
  readonly missing?: MissingPermissions | undefined
  readonly userAgent: string
  readonly tracer?: Tracer | undefined
}

/** The time limit for reading an object again after a write without an answer. */
const REREAD_TIMEOUT_MS = 10_000

/** A client that owns its connections. `close` ends the connections and all calls on them. */
export interface OwnedKubeClient extends KubeClient {
  readonly limits: ServerLimits
  close(): void
}

/** Creates a client. Throws if the configuration is invalid. */
export function createKubeClient(options: KubeClientOptions): OwnedKubeClient {
  const { config, clock, log, missing = new MissingPermissions({ clock, log }) } = options
  config.check?.()
  // The host as it is configured: `10.0.0.1:443`. `URL` would drop the default port.
  const host = config.origin.slice(config.origin.indexOf('//') + 2)
  const metrics = new RestMetrics(options.metrics, host)
  const transport = new Transport({ ...options, metrics, missing, dial: configDialer(config, clock) })
  return new HttpKubeClient(transport, clock)
}

class HttpKubeClient implements OwnedKubeClient {
  readonly #transport: Transport
  readonly #clock: Clock
  readonly #unknownOutcomes: UnknownOutcomes

  constructor(transport: Transport, clock: Clock) {
    this.#transport = transport
    this.#clock = clock
    const options = { newConnection: true, timeoutMs: REREAD_TIMEOUT_MS }
    this.#unknownOutcomes = new UnknownOutcomes((resource, ref) => this.get(resource, ref, options))
  }

  async get<T>(resource: Resource<T>, ref: ObjectRef, options?: RequestOptions): Promise<T> {
    const path = resourcePath(resource, ref)
    return await this.#send({ method: 'GET', path, resource, name: ref.name, options })
  }

  create<T>(resource: Resource<T>, object: T, options?: RequestOptions): Promise<T> {
    const { namespace, name = '' } = metadataOf(object) ?? {}
    const path = resourcePath(resource, { namespace })
    const request = { method: 'POST', path, body: objectJson(resource, object), resource, options } as const
    return name === '' ? this.#send(request) : this.#write({ resource, ref: { namespace, name } }, request)
  }

  replace<T>(resource: Resource<T>, object: T, options?: RequestOptions & SubresourceOption): Promise<T> {
    const { namespace, name = '' } = metadataOf(object) ?? {}
    const path = resourcePath(resource, { namespace, name, subresource: options?.subresource })
    const body = objectJson(resource, object)
    const request = { method: 'PUT', path, body, resource, name, options } as const
    return this.#write({ resource, ref: { namespace, name } }, request)
  }

  patch<T>(
    resource: Resource<T>,
    ref: ObjectRef,
    patch: Patch,
    options?: RequestOptions & SubresourceOption,
  ): Promise<T> {
    const { namespace, name } = ref
    const path = resourcePath(resource, { namespace, name, subresource: options?.subresource })
    const body = { type: PATCH_CONTENT_TYPES[patch.kind], text: JSON.stringify(patch.body) }
    return this.#write({ resource, ref }, { method: 'PATCH', path, body, resource, name, options })
  }

  async delete<T>(resource: Resource<T>, ref: ObjectRef, options?: DeleteOptions): Promise<void> {
    const path = resourcePath(resource, ref) + query({ gracePeriodSeconds: options?.gracePeriodSeconds })
    const body = options?.uid === undefined ? {} : { body: json({ preconditions: { uid: options.uid } }) }
    const request = { method: 'DELETE', path, resource, name: ref.name, options, ...body } as const
    await this.#write({ resource, ref }, request, () => this.#transport.send(request))
  }

  list<T, P>(resource: Resource<T>, options: ListOptions & Projecting<T, P>): AsyncIterable<ListPage<P>> {
    return listPages({ transport: this.#transport, clock: this.#clock }, resource, options)
  }

  watch<T>(resource: Resource<T>, options: WatchOptions<NoInfer<T>>): AsyncIterable<WatchFrame<T>> {
    return watchFrames({ transport: this.#transport, clock: this.#clock }, resource, options)
  }

  discover(path: string, options?: RequestOptions): Promise<unknown> {
    return this.#send({ method: 'GET', path, options })
  }

  onReread<T>(resource: Resource<T>, listener: RereadListener<T>): () => void {
    return this.#unknownOutcomes.listen(resource, (ref, object) => listener(ref, object as T | undefined))
  }

  get limits(): ServerLimits {
    return this.#transport.limits
  }

  close(): void {
    this.#transport.close()
  }

  #write<T>(
    { resource, ref }: { readonly resource: Resource<unknown>; readonly ref: ObjectRef },
    request: ApiRequest,
    sendOnce: () => Promise<T> = () => this.#send<T>(request),
  ): Promise<T> {
    const object = { resource, ref, path: resourcePath(resource, ref) }
    return this.#unknownOutcomes.write(object, { signal: request.options?.signal, sendOnce })
  }

  async #send<T>(request: ApiRequest): Promise<T> {
    return parseAnswer<T>(await this.#transport.send(request), request)
  }
}

/** The API server requires the kind in the body of a custom resource. */
function objectJson<T>(resource: Resource<T>, object: T): { type: string; text: string } {
  return json({ ...object, apiVersion: apiVersionOf(resource), kind: resource.kind })
}

function json(object: unknown): { type: string; text: string } {
  return { type: 'application/json', text: JSON.stringify(object) }
}

function metadataOf(object: KubeObject | unknown): KubeObject['metadata'] {
  return typeof object === 'object' && object !== null && 'metadata' in object
    ? (object as KubeObject).metadata
    : undefined
}

/** Returns a function that opens connections with the server, proxy and certificates of a configuration. */
function configDialer(config: ClusterConfig, clock: Clock): Dial {
  const url = new URL(config.origin)
  const port = portOf(url)
  return dialer({
    address: { host: url.hostname.replace(/^\[|\]$/g, ''), port },
    open: config.proxy ?? openTcp,
    tls: config.tls && tlsMaterial(config.tls, config.credentials),
    clock,
  })
}

/** Returns the TLS options. Reads the certificates for each new connection, because they are renewed in place. */
function tlsMaterial(trust: ServerTrust, credentials: Credentials): TlsMaterial {
  const fixed = {
    rejectUnauthorized: !trust.insecure,
    ...(trust.serverName !== undefined && { servername: trust.serverName }),
  }
  let made: { readonly context: SecureContext; readonly from: string } | undefined
  return () => {
    try {
      // If the certificate is not verified, an empty list keeps Node from parsing its over 100 default authorities.
      const ca = trust.insecure ? [] : trust.authorities()
      const certificate = credentials.certificate()
      const from = JSON.stringify([ca, certificate])
      if (made?.from !== from) {
        made = { context: createSecureContext({ ...(ca !== undefined && { ca }), ...certificate }), from }
      }
    } catch (error) {
      // Reading may fail while a certificate file is replaced. The new connection then uses the previous TLS context.
      if (made === undefined) throw new NetworkError(messageOf(error), { cause: error })
    }
    return { ...fixed, secureContext: made.context }
  }
}
