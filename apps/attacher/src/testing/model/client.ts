import type { CallOptions, KubeClient, SubresourceOption, WatchFrame, WatchOptions } from '@csi-sidecars/kube-client'
import type { ObjectRef, Patch, Resource } from '@csi-sidecars/kube-types'
import type { Gate } from '@csi-sidecars/testkit'
import { apiError } from '../api-error.ts'
import type { ModelApi } from './api.ts'
import { Stream } from './stream.ts'

/** What one process has of the API: requests that stop at its gate, and watches that lag. */
export class ModelClient {
  readonly streams = new Set<Stream>()
  readonly #api: ModelApi
  readonly #gate: Gate

  constructor(api: ModelApi, gate: Gate) {
    this.#api = api
    this.#gate = gate
  }

  /** The attacher reads, patches and watches; anything else is a mistake. */
  get client(): KubeClient {
    const never = (): never => {
      throw new Error('the attacher has no business with this')
    }
    return {
      get: (resource, ref, options) => this.#get(resource, ref, options),
      patch: (resource, ref, patch, options) => this.#patch(resource, ref, patch, options),
      watch: (resource, options) => this.#watch(resource, options),
      create: never,
      replace: never,
      delete: never,
      list: never,
      discover: never,
    }
  }

  #get<T>(resource: Resource<T>, { name }: ObjectRef, options: CallOptions = {}): Promise<T> {
    const read = (): T => {
      const found = this.#api.get(resource, name)
      if (found === undefined) throw apiError(404, 'NotFound', `${resource.plural} "${name}" not found`)
      return found as T
    }
    return this.#gate.pass({ label: `get ${resource.plural}/${name}`, write: false }, async () => read(), options)
  }

  async #patch<T>(
    resource: Resource<T>,
    { name }: ObjectRef,
    patch: Patch,
    options: CallOptions & SubresourceOption = {},
  ): Promise<T> {
    options.beforeSend?.()
    const { subresource } = options
    const label = `patch ${[resource.plural, name, ...(subresource === undefined ? [] : [subresource])].join('/')}`
    const effect = async (): Promise<T> => this.#api.patch(resource, name, patch, subresource) as T
    return await this.#gate.pass({ label, write: true }, effect, options)
  }

  async *#watch<T>({ plural }: Resource<T>, options: WatchOptions): AsyncGenerator<WatchFrame<T>> {
    const stream = new Stream(this.#api, plural, options.resourceVersion)
    this.streams.add(stream)
    try {
      yield* stream.frames<T>(options.signal)
    } finally {
      this.streams.delete(stream)
    }
  }
}
