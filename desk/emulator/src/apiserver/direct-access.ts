import { abortable, deadline } from '@csi-sidecars/base'
import type { ObjectRef, Resource } from '@csi-sidecars/kube-types'
import { alreadyExists } from './http/api-failure.ts'
import { applyMergePatch } from './patch/merge-patch.ts'
import { type ApiObject, type Json, withMeta } from './schema/json.ts'
import { groupVersionOf, kindNamed, type ServedKind } from './schema/kinds.ts'
import { completed } from './schema/typed.ts'
import { ensureNamespace } from './storage/bootstrap.ts'
import { commit, existing, keyOf, type ObjectRegistry, systemFields, type WriteTarget } from './storage/registry.ts'
import { defaulted } from './strategies/index.ts'
import { remove } from './verbs/deletion.ts'
import { isFinished } from './verbs/updating.ts'

/** One change of an object, as a listener in this process receives it. */
interface ObjectChange<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: T
}

/**
 * Access to the stored objects without HTTP, for tests and for programs that embed the server. Writes are not
 * validated, and they may set the status.
 */
export class DirectAccess {
  readonly #registry: ObjectRegistry

  constructor(registry: ObjectRegistry) {
    this.#registry = registry
  }

  kindOf(resource: { readonly group: string; readonly plural: string }): ServedKind {
    return kindNamed(resource)
  }

  get<T>(resource: Resource<T>, ref: ObjectRef): T | undefined {
    const { kind, ...where } = targetOf(resource, ref)
    return this.#registry.store.of(kind).get(keyOf(where))?.object as T | undefined
  }

  list<T>(resource: Resource<T>, namespace?: string): readonly T[] {
    const objects = [...this.#registry.store.of(kindNamed(resource)).entries()].map((entry) => entry.object)
    return objects.filter((object) => namespace === undefined || object.metadata.namespace === namespace) as T[]
  }

  /** Stores an object with its status. Creates the namespace of the object if it is missing. */
  create<T>(resource: Resource<T>, object: T): T {
    const kind = kindNamed(resource)
    const apiObject = object as unknown as ApiObject
    const namespace = kind.namespaced ? (apiObject.metadata.namespace ?? 'default') : undefined
    if (namespace !== undefined) ensureNamespace(this.#registry, namespace)
    const target: WriteTarget = { kind, namespace, name: apiObject.metadata.name ?? '', status: false }
    if (this.#registry.store.of(kind).get(keyOf(target)) !== undefined) throw alreadyExists(kind, target.name)
    const typed = { ...plain(apiObject), apiVersion: groupVersionOf(kind), kind: kind.kind }
    const { uid, creationTimestamp } = systemFields(this.#registry)
    const { metadata } = typed
    const complete = withMeta(typed, {
      ...(namespace === undefined ? {} : { namespace }),
      uid: metadata.uid ?? uid,
      creationTimestamp: metadata.creationTimestamp ?? creationTimestamp,
      generation: metadata.generation ?? kind.firstGeneration,
    })
    return commit(this.#registry, target, { object: completed(kind, defaulted(kind, complete)), dryRun: false })
      .object as unknown as T
  }

  /** Replaces an object by the result of `change`. A deleted object without finalizers then disappears. */
  update<T>(resource: Resource<T>, ref: ObjectRef, change: (object: T) => T): T {
    const target = targetOf(resource, ref)
    const { object: old } = existing(this.#registry, target)
    const asked = plain(change(old as unknown as T) as unknown as ApiObject)
    const changed = completed(target.kind, defaulted(target.kind, asked))
    if (isFinished(changed)) return this.#registry.store.remove(target.kind, keyOf(target), old).object as unknown as T
    return commit(this.#registry, target, { object: changed, dryRun: false }).object as unknown as T
  }

  /** Changes an object by a merge patch. */
  edit<T>(resource: Resource<T>, ref: ObjectRef, patch: object): T {
    return this.update(resource, ref, (object) => applyMergePatch(object as Json, patch as Json) as T)
  }

  /** Deletes an object like a DELETE request: an object with finalizers is only marked as deleted. */
  delete<T>(resource: Resource<T>, ref: ObjectRef): void {
    remove(this.#registry, targetOf(resource, ref), { dryRun: false })
  }

  onChange<T>(resource: Resource<T>, listener: (change: ObjectChange<T>) => void): () => void {
    return this.#registry.store
      .of(kindNamed(resource))
      .subscribe(({ type, entry }) => listener({ type, object: entry.object as unknown as T }))
  }

  /** Resolves with the object as soon as the object exists and satisfies `holds`. */
  async until<T>(resource: Resource<T>, ref: ObjectRef & Wait, holds: (object: T) => unknown): Promise<T> {
    return await this.#when(resource, ref, (object) => (object !== undefined && holds(object) ? { object } : undefined))
  }

  /** Resolves as soon as the object does not exist. */
  async untilGone<T>(resource: Resource<T>, ref: ObjectRef & Wait): Promise<void> {
    await this.#when(resource, ref, (object) => (object === undefined ? { object } : undefined))
  }

  async #when<T, R>(
    resource: Resource<T>,
    { timeoutMs = 10_000, ...ref }: ObjectRef & Wait,
    select: (object: T | undefined) => { readonly object: R } | undefined,
  ): Promise<R> {
    const now = select(this.get(resource, ref))
    if (now !== undefined) return now.object
    const found = Promise.withResolvers<R>()
    const unsubscribe = this.onChange(resource, () => {
      const seen = select(this.get(resource, ref))
      if (seen !== undefined) found.resolve(seen.object)
    })
    const operation = `waiting for ${resource.plural} ${keyOf(targetOf(resource, ref))}`
    using guard = deadline(this.#registry.clock, timeoutMs, { operation })
    try {
      return await abortable(found.promise, guard.signal)
    } finally {
      unsubscribe()
    }
  }
}

interface Wait {
  readonly timeoutMs?: number
}

function targetOf(resource: Resource<unknown>, ref: ObjectRef): WriteTarget {
  const kind = kindNamed(resource)
  return { kind, namespace: kind.namespaced ? (ref.namespace ?? 'default') : undefined, name: ref.name, status: false }
}

/** Returns a deep copy without undefined fields, so that the caller cannot change the stored object. */
function plain(object: ApiObject): ApiObject {
  return JSON.parse(JSON.stringify(object)) as ApiObject
}
