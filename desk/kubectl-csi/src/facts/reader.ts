import { ApiError, isNotFound, type KubeClient, type Selection } from '@csi-sidecars/kube-client'
import type { ObjectRef, Resource } from '@csi-sidecars/kube-types'
import { keyOf, type Named, type ReadResult, refOf, textOf, type Unseen } from './facts.ts'
import { notUnderstood, withoutNulls } from './shapes.ts'

/** A client with only the verbs that read. It has no `watch`, because a watch would outlive the command. */
export type ReadOnlyClient = Pick<KubeClient, 'get' | 'list' | 'discover'>

/** The selection of a list. By default the result has all objects with all fields. */
export interface ListQuery<T> extends Selection {
  /** Selects the objects to keep in the result. */
  readonly where?: (object: T) => boolean
  /** Reduces an object to the fields that the caller needs. */
  readonly reduce?: (object: T) => T
  /** Receives the key of each object with an unexpected shape. Such objects are not in the result. */
  readonly notUnderstood?: (key: string) => void
}

/** Returns a client with only the verbs that read, so that this command cannot write by mistake. */
export function readOnly(client: KubeClient): ReadOnlyClient {
  return {
    get: (resource, ref, options) => client.get(resource, ref, options),
    list: (resource, options) => client.list(resource, options),
    discover: (path, options) => client.discover(path, options),
  }
}

/** Thrown if the object of the command does not exist. */
export class NoSuchObjectError extends Error {
  override readonly name = 'NoSuchObjectError'
}

const PAGE_SIZE = 1000

/** The kinds without which the command cannot answer "nothing is stuck". */
const ESSENTIAL: ReadonlySet<string> = new Set([
  'nodes',
  'persistentvolumeclaims',
  'persistentvolumes',
  'pods',
  'volumeattachments',
])

/**
 * Reads objects. Records a refused read, or an object with an unexpected shape, as unseen, and continues. Throws if the
 * API server does not answer or does not know the client.
 */
export class ApiReader {
  readonly unseen: Unseen[] = []
  readonly #client: ReadOnlyClient
  readonly #signal: AbortSignal

  constructor(client: ReadOnlyClient, signal: AbortSignal) {
    this.#client = client
    this.#signal = signal
  }

  async get<T>(resource: Resource<T>, ref: ObjectRef): Promise<ReadResult<T>> {
    try {
      const object = this.#understood(resource, await this.#client.get(resource, ref, { signal: this.#signal }))
      return object === undefined ? { kind: 'unseen' } : { kind: 'present', object }
    } catch (error) {
      if (isNotFound(error)) return { kind: 'absent' }
      this.#refused(resource, error)
      return { kind: 'unseen' }
    }
  }

  /** Lists objects page by page. Returns undefined if the API server refuses the list. */
  async list<T>(
    resource: Resource<T>,
    { where = () => true, reduce = (object) => object, notUnderstood: skipped, ...selection }: ListQuery<T> = {},
  ): Promise<T[] | undefined> {
    const project = (received: T): T | undefined => {
      const object = this.#understood(resource, received, skipped)
      return object !== undefined && where(object) ? reduce(object) : undefined
    }
    const found: T[] = []
    try {
      const options = { ...selection, project, pageSize: PAGE_SIZE, signal: this.#signal }
      for await (const page of this.#client.list(resource, options)) found.push(...page.items)
      return found
    } catch (error) {
      // The API server does not serve the kind: its CRD is not installed.
      if (isNotFound(error)) return found
      this.#refused(resource, error)
      return undefined
    }
  }

  /** Sends a GET to a path that is not the path of an object. Throws if the read is refused, unlike `get`. */
  raw(path: string, options: { readonly timeoutMs: number; readonly signal: AbortSignal }): Promise<unknown> {
    return this.#client.discover(path, options)
  }

  /** Reads the version of the API server. Undefined if the API server refuses it. */
  async version(): Promise<unknown> {
    try {
      return await this.#client.discover('/version', { signal: this.#signal })
    } catch (error) {
      if (!(error instanceof ApiError) || error.code === 0 || error.code === 401) throw error
      this.notSeen({ what: '/version', why: error.message, essential: false })
      return undefined
    }
  }

  notSeen(unseen: Unseen): void {
    if (!this.unseen.some(({ what, why }) => what === unseen.what && why === unseen.why)) this.unseen.push(unseen)
  }

  /** Returns the object without nulls. If it has an unexpected shape, records it as not seen and returns undefined. */
  #understood<T>({ kind, plural }: Resource<T>, received: T, skipped?: (key: string) => void): T | undefined {
    const object = withoutNulls(received)
    const why = notUnderstood(plural, object)
    if (why === undefined) return object
    const ref = refOf(kind, (received ?? {}) as Named)
    this.notSeen({ what: textOf(ref), why: `it is not understood: ${why}`, essential: ESSENTIAL.has(plural) })
    skipped?.(keyOf(ref))
    return undefined
  }

  #refused({ group, plural }: Resource<unknown>, error: unknown): void {
    if (!(error instanceof ApiError) || error.code === 0 || error.code === 401) throw error
    const resourceName = group === '' ? plural : `${plural}.${group}`
    this.notSeen({ what: resourceName, why: error.message, essential: ESSENTIAL.has(plural) })
  }
}
