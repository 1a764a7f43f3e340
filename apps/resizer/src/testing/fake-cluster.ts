import { abortable } from '@csi-sidecars/base'
import {
  ApiError,
  apiErrorOf,
  type CallOptions,
  type KubeClient,
  type ListOptions,
  type Priority,
  type Projecting,
  type SubresourceOption,
  type WatchFrame,
  type WatchOptions,
} from '@csi-sidecars/kube-client'
import {
  compareResourceVersions,
  type KubeObject,
  type ObjectRef,
  type Patch,
  type Resource,
} from '@csi-sidecars/kube-types'
import { applyPatch } from '@csi-sidecars/testkit'

/** One request as it would be on the wire. */
export interface SeenRequest {
  readonly verb: 'get' | 'list' | 'watch' | 'create' | 'patch'
  /** `persistentvolumeclaims/status`, `pods`. */
  readonly what: string
  readonly name: string
  readonly body?: unknown
  /** Of a patch. */
  readonly priority?: Priority | undefined
}

export type ClusterChange = {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly resource: Resource<unknown>
  readonly object: KubeObject
}

/** Throws, or returns, before or after a request has taken effect. May wait; `HANG` never answers. */
export type Fault = (request: SeenRequest) => unknown
export const HANG = Symbol('no answer')

type PatchOptions = CallOptions & SubresourceOption
type Listener = (change: ClusterChange) => void

/** The API server as far as the resizer knows it: objects in memory, versions, conflicts and merge rules. For tests. */
export class FakeCluster {
  readonly requests: SeenRequest[] = []
  readonly client: KubeClient
  /** Before a request takes effect: what it throws is the answer. */
  before: Fault = () => undefined
  /** After it has taken effect: what it throws takes the place of the answer. */
  after: Fault = () => undefined
  /** Called with each request as it is sent. */
  onRequest: (request: SeenRequest) => void = () => undefined
  /** Watches break off once they have sent all that they know. */
  watchesBroken = false
  readonly #objects = new Map<string, KubeObject>()
  readonly #listeners = new Set<Listener>()
  readonly #openWatches: string[] = []
  readonly #history: ClusterChange[] = []
  #version = 100

  constructor() {
    this.client = {
      get: (resource, ref, options) =>
        this.#request({ verb: 'get', ...seen(resource, ref) }, () => this.#read(resource, ref), options),
      create: (resource, object, options) => this.#create(resource, object, options),
      patch: (resource, ref, patch, options = {}) => this.#patch(resource, ref, patch, options),
      list: (resource, options) => this.#list(resource, options),
      watch: (resource, options) => this.#watch(resource, options),
      replace: unexpected,
      delete: unexpected,
      discover: unexpected,
    }
  }

  /** Creates or replaces, as another writer does. */
  put<T extends KubeObject>(resource: Resource<T>, object: T): T {
    const key = keyOf(resource, refOf(object))
    const type = this.#objects.has(key) ? 'MODIFIED' : 'ADDED'
    return this.#store(resource, key, type, object)
  }

  /** Changes by a merge patch, as another writer does. */
  edit<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, change: object): T {
    const patch: Patch = { kind: 'merge', body: change }
    return this.put(resource, applyPatch(this.#read(resource, ref), patch, { resource, errorOf: apiErrorOf }))
  }

  delete<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef): void {
    const key = keyOf(resource, ref)
    const object = this.#objects.get(key)
    if (object === undefined) return
    this.#objects.delete(key)
    this.#emit({ type: 'DELETED', resource, object: this.#versioned(object) })
  }

  find<T>(resource: Resource<T>, ref: ObjectRef): T | undefined {
    return this.#objects.get(keyOf(resource, ref)) as T | undefined
  }

  all<T>(resource: Resource<T>, namespace?: string): readonly T[] {
    const prefix = namespace === undefined ? `${resource.plural} ` : `${resource.plural} ${namespace} `
    return [...this.#objects].flatMap(([key, object]) => (key.startsWith(prefix) ? [object as T] : []))
  }

  onChange(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** How many watches of these are open. */
  watches(plural: string): number {
    return this.#openWatches.filter((each) => each === plural).length
  }

  /** What was written, in order, without events. */
  get writes(): readonly SeenRequest[] {
    return this.requests.filter(({ verb }) => verb === 'patch')
  }

  async #request<R>(request: SeenRequest, perform: () => R, options?: CallOptions): Promise<R> {
    options?.beforeSend?.()
    this.requests.push(request)
    this.onRequest(request)
    await answered(this.before(request), options?.signal)
    // A caller that has ended by now has never sent it.
    options?.beforeSend?.()
    const result = perform()
    await answered(this.after(request), options?.signal)
    return result
  }

  #create<T>(resource: Resource<T>, object: T, options?: CallOptions): Promise<T> {
    const ref = refOf(object as KubeObject)
    const request: SeenRequest = { verb: 'create', ...seen(resource, ref), body: object }
    const perform = (): T => this.#store(resource, keyOf(resource, ref), 'ADDED', object as KubeObject) as T
    return this.#request(request, perform, options)
  }

  #patch<T>(resource: Resource<T>, ref: ObjectRef, patch: Patch, options: PatchOptions): Promise<T> {
    const { body, kind } = patch
    const { subresource, priority } = options
    const request: SeenRequest = { verb: 'patch', ...seen(resource, ref, subresource), body, priority }
    const perform = (): T => {
      if (kind !== 'strategic') throw new Error(`unexpected ${kind} patch`)
      const object = this.#read(resource, ref) as KubeObject
      const { resourceVersion, uid } = (body as KubeObject).metadata ?? {}
      if (resourceVersion !== undefined && resourceVersion !== object.metadata?.resourceVersion) {
        throw conflict(resource, ref)
      }
      if (uid !== undefined && uid !== object.metadata?.uid) throw anotherUid(resource, ref, uid)
      const target = resource as Resource<KubeObject>
      const patched = applyPatch(object, patch, { resource: target, errorOf: apiErrorOf })
      // A patch that changes nothing is no change.
      if (JSON.stringify(patched) === JSON.stringify(object)) return object as T
      return this.#store(resource, keyOf(resource, ref), 'MODIFIED', patched) as T
    }
    return this.#request(request, perform, options)
  }

  async *#list<T, P>(resource: Resource<T>, options: ListOptions & Projecting<T, P>) {
    const request: SeenRequest = { verb: 'list', ...seen(resource, { name: options.namespace ?? '' }) }
    const items = await this.#request(request, () =>
      this.all(resource, options.namespace).flatMap((object) => options.project(object) ?? []),
    )
    yield { items, resourceVersion: String(this.#version), continue: undefined }
  }

  async *#watch<T>(
    resource: Resource<T>,
    { namespace, signal, resourceVersion = '' }: WatchOptions,
  ): AsyncGenerator<WatchFrame<T>> {
    const concerns = (change: ClusterChange): boolean =>
      change.resource.plural === resource.plural &&
      (namespace === undefined || change.object.metadata?.namespace === namespace) &&
      compareResourceVersions(change.object.metadata?.resourceVersion ?? '', resourceVersion) > 0
    await this.#request({ verb: 'watch', ...seen(resource, { name: namespace ?? '' }) }, () => undefined)
    const frames = this.#history.filter(concerns)
    this.#openWatches.push(resource.plural)
    let wake = (): void => undefined
    const forget = this.onChange((change) => {
      if (concerns(change)) frames.push(change)
      wake()
    })
    const onAbort = (): void => wake()
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      for (;;) {
        signal?.throwIfAborted()
        const next = frames.shift()
        if (next !== undefined) yield { type: next.type, object: next.object as T }
        else if (this.watchesBroken) return yield { type: 'END', why: 'broken' }
        else {
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        }
      }
    } finally {
      forget()
      this.#openWatches.splice(this.#openWatches.indexOf(resource.plural), 1)
      signal?.removeEventListener('abort', onAbort)
    }
  }

  #read<T>(resource: Resource<T>, ref: ObjectRef): T {
    const object = this.find(resource, ref)
    if (object !== undefined) return object
    const group = resource.group === '' ? '' : `.${resource.group}`
    const message = `${resource.plural}${group} "${ref.name}" not found`
    throw new ApiError({ code: 404, reason: 'NotFound', message })
  }

  #store<T extends KubeObject>(resource: Resource<unknown>, key: string, type: ClusterChange['type'], object: T): T {
    const stored = this.#versioned(object)
    this.#objects.set(key, stored)
    this.#emit({ type, resource, object: stored })
    return stored
  }

  #versioned<T extends KubeObject>(object: T): T {
    this.#version += 1
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } }
  }

  #emit(change: ClusterChange): void {
    this.#history.push(change)
    for (const listener of this.#listeners) listener(change)
  }
}

/** What the fault wants to happen; without an answer the request waits until it is given up. */
async function answered(fault: unknown, signal: AbortSignal | undefined): Promise<void> {
  if ((await fault) === HANG) await abortable(new Promise(() => undefined), signal)
}

export function apiError(code: number, reason: string, message: string): ApiError {
  return new ApiError({ code, reason, message })
}

function conflict(resource: Resource<unknown>, { name }: ObjectRef): ApiError {
  const why = 'the object has been modified; please apply your changes to the latest version and try again'
  return apiError(409, 'Conflict', `Operation cannot be fulfilled on ${resource.plural} "${name}": ${why}`)
}

/** The patch is meant for an object that was there before this one of its name. */
function anotherUid({ plural, kind }: Resource<unknown>, { name }: ObjectRef, uid: string): ApiError {
  const field = 'metadata.uid'
  const why = `Invalid value: "${uid}": field is immutable`
  return new ApiError({
    code: 422,
    reason: 'Invalid',
    message: `${kind} "${name}" is invalid: ${field}: ${why}`,
    details: { name, kind: plural, causes: [{ reason: 'FieldValueInvalid', message: why, field }] },
  })
}

function seen(
  resource: Resource<unknown>,
  { name }: ObjectRef,
  subresource?: string,
): Pick<SeenRequest, 'what' | 'name'> {
  return { what: subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`, name }
}

function keyOf({ plural }: Resource<unknown>, { namespace = '', name }: ObjectRef): string {
  return `${plural} ${namespace} ${name}`
}

function refOf({ metadata }: KubeObject): ObjectRef {
  return { name: metadata?.name ?? '', namespace: metadata?.namespace }
}

function unexpected(): never {
  throw new Error('a request that the resizer never makes')
}
