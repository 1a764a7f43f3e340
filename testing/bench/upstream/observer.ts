import { get } from 'node:https'
import { type KubeObject, type Resource, resourcePath } from '@csi-sidecars/kube-types'
import type { Cluster } from '../../e2e/harness/api/cluster.ts'

interface Frame<T> {
  readonly type: string
  readonly object: T
}

interface List<T> {
  readonly items: readonly T[]
  readonly metadata: { readonly resourceVersion: string }
}

/** Follows the objects of one resource by a watch, which costs the API server much less than polling. */
export class Observer<T extends KubeObject> implements Disposable {
  /** The current objects, by name. */
  readonly #objects = new Map<string, T>()
  readonly #cluster: Cluster
  readonly #path: string
  #request: { destroy(): void } | undefined
  #closed = false
  #failure: unknown
  #changed: () => void = () => undefined

  private constructor(cluster: Cluster, resource: Resource<T>) {
    this.#cluster = cluster
    this.#path = resourcePath(resource, {})
  }

  static async open<T extends KubeObject>(cluster: Cluster, resource: Resource<T>): Promise<Observer<T>> {
    const observer = new Observer(cluster, resource)
    await observer.#listAndWatch()
    return observer
  }

  /** Resolves when `count` objects satisfy `holds`. Rejects with the number of such objects when the time is over. */
  async until(
    description: string,
    holds: (object: T) => boolean,
    { count, within }: { count: number; within: number },
  ): Promise<void> {
    const fitting = (): number => this.#objects.values().filter(holds).toArray().length
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const check = (): void => {
      if (fitting() === count) resolve()
      else if (this.#failure !== undefined) reject(this.#failure)
    }
    const late = (): void => reject(new Error(`after ${within / 1000} s, ${fitting()} of ${count} ${description}`))
    const timer = setTimeout(late, within)
    this.#changed = check
    check()
    try {
      await promise
    } finally {
      clearTimeout(timer)
      this.#changed = () => undefined
    }
  }

  [Symbol.dispose](): void {
    this.#closed = true
    this.#request?.destroy()
  }

  /** Lists the objects and watches from the resource version of the list. */
  async #listAndWatch(): Promise<void> {
    const { items, metadata } = await this.#cluster.api.call<List<T>>('GET', this.#path)
    this.#objects.clear()
    for (const object of items) this.#objects.set(nameOf(object), object)
    await this.#watch(metadata.resourceVersion)
    this.#changed()
  }

  #watch(resourceVersion: string): Promise<void> {
    const { url: server, ca, adminToken } = this.#cluster
    const url = new URL(`${this.#path}?watch=1&resourceVersion=${resourceVersion}`, server)
    const headers = { authorization: `Bearer ${adminToken}` }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const request = get(url, { ca, agent: false, headers }, (answer) => {
      let rest = ''
      answer.setEncoding('utf8').on('data', (text: string) => {
        const lines = (rest + text).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) this.#note(JSON.parse(line) as Frame<T>)
        this.#changed()
      })
      answer.on('close', () => this.#again())
      if (answer.statusCode === 200) resolve()
      else reject(new Error(`the watch of ${this.#path} was refused: ${answer.statusCode}`))
    })
    request.on('error', reject)
    this.#request = request
    return promise
  }

  #note({ type, object }: Frame<T>): void {
    if (type === 'ADDED' || type === 'MODIFIED') this.#objects.set(nameOf(object), object)
    else if (type === 'DELETED') this.#objects.delete(nameOf(object))
  }

  /** Lists and watches again, because the API server ends the watch of a client that reads too slowly. */
  #again(): void {
    if (this.#closed) return
    this.#listAndWatch().catch((error: unknown) => {
      this.#failure = error
      this.#changed()
    })
  }
}

function nameOf({ metadata }: KubeObject): string {
  return metadata?.name ?? ''
}
