import { abortable } from '@csi-sidecars/base'
import { ApiError, type KubeClient, type WatchFrame } from '@csi-sidecars/kube-client'
import type { Lease } from '@csi-sidecars/kube-types'

const refuse = (code: number, reason: string, retryAfterMs?: number): ApiError =>
  new ApiError({ code, reason, message: reason, retryAfterMs })

/** An in-memory API server for one Lease. */
export class LeaseServer {
  lease: Lease | undefined
  readonly history: Lease[] = []
  readonly requests: string[] = []
  failing = false
  forbidden = false
  throttling = false
  retryAfterMs: number | undefined
  hanging = false
  /** Delays each answer of the server until the returned promise resolves. Undefined: no delay. */
  slowly: (() => Promise<void>) | undefined
  watchForbidden = false
  onRequest: (() => void) | undefined
  #version = 0
  #watchers = new Set<(lease: Lease) => void>()

  /** Makes another client the holder of the Lease. */
  hold(holderIdentity: string, leaseDurationSeconds: number): void {
    const spec = { holderIdentity, leaseDurationSeconds, leaseTransitions: 0, renewTime: String(this.#version) }
    this.#store({ metadata: { name: 'lease', namespace: 'ns' }, spec })
  }

  /** Writes the Lease without a change of its spec, as a write of labels does. */
  touch(): void {
    if (this.lease !== undefined) this.#store(this.lease)
  }

  get client(): KubeClient {
    const serve = <T>(verb: string, signal: AbortSignal | undefined, answer: () => Lease): Promise<T> => {
      this.requests.push(verb)
      this.onRequest?.()
      if (this.hanging) {
        return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
      }
      if (this.throttling) return Promise.reject(refuse(429, 'TooManyRequests', this.retryAfterMs))
      if (this.forbidden) return Promise.reject(refuse(403, 'Forbidden'))
      if (this.failing) return Promise.reject(refuse(500, 'InternalError', this.retryAfterMs))
      // The methods are generic over the resource, but this server serves only Leases.
      if (this.slowly !== undefined) {
        return abortable(this.slowly(), signal).then(answer) as Promise<unknown> as Promise<T>
      }
      return Promise.try(answer) as Promise<unknown> as Promise<T>
    }
    const unsupported = (): never => {
      throw new Error('not served')
    }
    return {
      get: (_, __, options) =>
        serve(options?.newConnection ? 'get on a new connection' : 'get', options?.signal, () => this.#found()),
      create: (_, object, options) => serve('create', options?.signal, () => this.#create(object as Lease)),
      replace: (_, object, options) => serve('replace', options?.signal, () => this.#replace(object as Lease)),
      patch: unsupported,
      delete: unsupported,
      list: unsupported,
      discover: unsupported,
      watch: (_, { signal }) => this.#watch(signal) as AsyncIterable<WatchFrame<never>>,
    }
  }

  #found(): Lease {
    if (this.lease === undefined) throw refuse(404, 'NotFound')
    return this.lease
  }

  #create(lease: Lease): Lease {
    if (this.lease !== undefined) throw refuse(409, 'AlreadyExists')
    return this.#store(lease)
  }

  #replace(lease: Lease): Lease {
    if (lease.metadata?.resourceVersion !== this.#found().metadata?.resourceVersion) throw refuse(409, 'Conflict')
    return this.#store(lease)
  }

  #store(lease: Lease): Lease {
    this.#version += 1
    this.lease = { ...lease, metadata: { ...lease.metadata, uid: 'uid', resourceVersion: String(this.#version) } }
    this.history.push(this.lease)
    for (const send of this.#watchers) send(this.lease)
    return this.lease
  }

  async *#watch(signal: AbortSignal | undefined): AsyncIterable<WatchFrame<Lease>> {
    if (this.watchForbidden) throw refuse(403, 'Forbidden')
    for (;;) {
      const next = Promise.withResolvers<Lease>()
      const send = next.resolve
      this.#watchers.add(send)
      signal?.addEventListener('abort', () => next.reject(signal.reason), { once: true })
      try {
        yield { type: 'MODIFIED', object: await next.promise }
      } finally {
        this.#watchers.delete(send)
      }
    }
  }
}
