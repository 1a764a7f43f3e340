import type { Clock } from '@csi-sidecars/base'
import {
  type KubeObject,
  type ObjectRef,
  PATCH_CONTENT_TYPES,
  type Patch,
  type Resource,
  resourcePath,
} from '@csi-sidecars/kube-types'
import type { Logger, Metrics } from '@csi-sidecars/telemetry'
import type {
  CallOptions,
  GracePeriodOption,
  KubeClient,
  ListOptions,
  ListPage,
  Projecting,
  SubresourceOption,
  WatchFrame,
  WatchOptions,
} from './client.ts'
import type { ClusterConfig } from './config/cluster-config.ts'
import { configDialer } from './config-dialer.ts'
import { parseAnswer } from './decode.ts'
import type { FlowOptions } from './flow/flow-options.ts'
import { listPages } from './list.ts'
import { type ApiRequest, query } from './request.ts'
import { RestMetrics } from './rest-metrics.ts'
import { Transport } from './transport.ts'
import { watchFrames } from './watch.ts'

export interface KubeClientOptions {
  readonly config: ClusterConfig
  readonly flow: FlowOptions
  readonly clock: Clock
  readonly log: Logger
  readonly metrics?: Metrics | undefined
  readonly userAgent: string
}

/** A client that holds connections; `close` ends them and what runs on them. */
export interface OwnedKubeClient extends KubeClient {
  close(): void
}

/** Throws what is wrong with the configuration. */
export function createKubeClient(options: KubeClientOptions): OwnedKubeClient {
  const { config, clock } = options
  config.check?.()
  const metrics = new RestMetrics(options.metrics, hostOf(config.origin))
  const transport = new Transport({ ...options, metrics, dial: configDialer(config, clock) })
  return new HttpKubeClient(transport, clock)
}

/** As it is written, as Go labels it: `10.0.0.1:443`. A URL would forget that port. */
function hostOf(origin: string): string {
  return origin.slice(origin.indexOf('//') + 2)
}

class HttpKubeClient implements OwnedKubeClient {
  readonly #transport: Transport
  readonly #clock: Clock

  constructor(transport: Transport, clock: Clock) {
    this.#transport = transport
    this.#clock = clock
  }

  get<T>(resource: Resource<T>, ref: ObjectRef, options?: CallOptions): Promise<T> {
    const path = resourcePath(resource, ref)
    return this.#send({ method: 'GET', path, resource, name: ref.name, options })
  }

  create<T>(resource: Resource<T>, object: T, options?: CallOptions): Promise<T> {
    const path = resourcePath(resource, { namespace: metadataOf(object)?.namespace })
    return this.#send({ method: 'POST', path, body: json(object), resource, options })
  }

  replace<T>(resource: Resource<T>, object: T, options?: CallOptions & SubresourceOption): Promise<T> {
    const { namespace, name = '' } = metadataOf(object) ?? {}
    const path = resourcePath(resource, { namespace, name, subresource: options?.subresource })
    return this.#send({ method: 'PUT', path, body: json(object), resource, name, options })
  }

  patch<T>(resource: Resource<T>, ref: ObjectRef, patch: Patch, options?: CallOptions & SubresourceOption): Promise<T> {
    const { namespace, name } = ref
    const path = resourcePath(resource, { namespace, name, subresource: options?.subresource })
    const body = { type: PATCH_CONTENT_TYPES[patch.kind], text: JSON.stringify(patch.body) }
    return this.#send({ method: 'PATCH', path, body, resource, name, options })
  }

  async delete<T>(resource: Resource<T>, ref: ObjectRef, options?: CallOptions & GracePeriodOption): Promise<void> {
    const path = resourcePath(resource, ref) + query({ gracePeriodSeconds: options?.gracePeriodSeconds })
    await this.#transport.send({ method: 'DELETE', path, resource, name: ref.name, options })
  }

  list<T, P>(resource: Resource<T>, options: ListOptions & Projecting<T, P>): AsyncIterable<ListPage<P>> {
    return listPages(this.#transport, this.#clock, resource, options)
  }

  watch<T>(resource: Resource<T>, options: WatchOptions): AsyncIterable<WatchFrame<T>> {
    return watchFrames(this.#transport, this.#clock, resource, options)
  }

  discover(path: string, options?: CallOptions): Promise<unknown> {
    return this.#send({ method: 'GET', path, options })
  }

  close(): void {
    this.#transport.close()
  }

  async #send<T>(request: ApiRequest): Promise<T> {
    return parseAnswer<T>(await this.#transport.send(request), request.path)
  }
}

function json(object: unknown): { type: string; text: string } {
  return { type: 'application/json', text: JSON.stringify(object) }
}

function metadataOf(object: KubeObject | unknown): KubeObject['metadata'] {
  return typeof object === 'object' && object !== null && 'metadata' in object
    ? (object as KubeObject).metadata
    : undefined
}
