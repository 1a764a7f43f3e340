import { isDeepStrictEqual } from 'node:util'
import { applyMergePatch, type KubeObject, type Patch, type Resource } from '@csi-sidecars/kube-types'
import { apiError, uidMismatch } from '../api-error.ts'
import { applyJsonPatch } from '../json-patch.ts'

export interface Stored extends KubeObject {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly resourceVersion: string
    readonly deletionTimestamp?: string
    readonly finalizers?: readonly string[]
    readonly annotations?: Readonly<Record<string, string>>
    readonly labels?: Readonly<Record<string, string>>
  }
  readonly spec?: unknown
  readonly status?: unknown
}

export interface Change {
  readonly version: number
  readonly plural: string
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: Stored
}

type Kind = Pick<Resource<unknown>, 'plural'>

/** What the attacher can see of an API server: versions, finalizers, halves of an object, and everything in order. */
export class ModelApi {
  /** All that has ever happened. */
  readonly log: Change[] = []
  /** The patches that have been served, refused ones included: `volumeattachments/va/status {...}`. */
  readonly patches: string[] = []
  readonly #objects = new Map<string, Stored>()
  readonly #listeners = new Set<() => void>()
  #version = 0
  #uid = 0

  get version(): number {
    return this.#version
  }

  get({ plural }: Kind, name: string): Stored | undefined {
    return this.#objects.get(`${plural}/${name}`)
  }

  list({ plural }: Kind): Stored[] {
    return [...this.#objects].filter(([key]) => key.startsWith(`${plural}/`)).map(([, object]) => object)
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  create(kind: Kind, object: { metadata: object & { name: string } }): void {
    if (this.get(kind, object.metadata.name) !== undefined) return
    this.#uid += 1
    const uid = `uid-${this.#uid}`
    this.#put(kind, { ...object, metadata: { ...object.metadata, uid, resourceVersion: '' } }, 'ADDED')
  }

  /** Goes at once, or is marked while finalizers hold it. */
  delete(kind: Kind, name: string): void {
    const old = this.get(kind, name)
    if (old === undefined || old.metadata.deletionTimestamp !== undefined) return
    if (isFree(old)) this.#remove(kind, old)
    else this.#put(kind, { ...old, metadata: { ...old.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } })
  }

  /** A change by another writer. */
  edit(kind: Kind, name: string, change: object): void {
    const old = this.get(kind, name)
    if (old !== undefined) this.#replace(kind, old, applyMergePatch(old, change) as Stored)
  }

  patch(kind: Kind, name: string, patch: Patch, subresource: string | undefined): Stored {
    const path = [kind.plural, name, ...(subresource === undefined ? [] : [subresource])].join('/')
    this.patches.push(`${path} ${JSON.stringify(patch.body)}`)
    const old = this.get(kind, name)
    if (old === undefined) throw apiError(404, 'NotFound', `${kind.plural} "${name}" not found`)
    const next = patched(old, patch)
    // A write of one half leaves the other as it is.
    return this.#replace(
      kind,
      old,
      subresource === 'status' ? withStatus(old, next.status) : withStatus(next, old.status),
    )
  }

  #replace(kind: Kind, old: Stored, next: Stored): Stored {
    const { deletionTimestamp, finalizers = [] } = next.metadata
    const added = finalizers.filter((name) => old.metadata.finalizers?.includes(name) !== true)
    if (deletionTimestamp !== undefined && added.length > 0) {
      throw apiError(422, 'Invalid', 'no new finalizers can be added if the object is being deleted')
    }
    if (isDeepStrictEqual(old, next)) return old
    if (deletionTimestamp === undefined || !isFree(next)) return this.#put(kind, next)
    // Watchers see what was stored last; the writer gets back what it wrote, with the version of what it changed.
    this.#remove(kind, old)
    return next
  }

  #put(kind: Kind, object: Stored, type: 'ADDED' | 'MODIFIED' = 'MODIFIED'): Stored {
    const stored = this.#versioned(object)
    this.#objects.set(`${kind.plural}/${object.metadata.name}`, stored)
    this.#report(kind, type, stored)
    return stored
  }

  #remove(kind: Kind, object: Stored): void {
    this.#objects.delete(`${kind.plural}/${object.metadata.name}`)
    this.#report(kind, 'DELETED', this.#versioned(object))
  }

  #versioned(object: Stored): Stored {
    this.#version += 1
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } }
  }

  #report({ plural }: Kind, type: Change['type'], object: Stored): void {
    this.log.push({ version: this.#version, plural, type, object })
    for (const listener of this.#listeners) listener()
  }
}

function isFree({ metadata: { finalizers = [] } }: Stored): boolean {
  return finalizers.length === 0
}

function withStatus({ status: _, ...object }: Stored, status: unknown): Stored {
  return status === undefined ? object : { ...object, status }
}

function patched(object: Stored, patch: Patch): Stored {
  if (patch.kind === 'merge') {
    const { uid } = (patch.body as Partial<Stored>).metadata ?? {}
    if (uid !== undefined && uid !== object.metadata.uid) throw uidMismatch(uid)
    return applyMergePatch(object, patch.body) as Stored
  }
  const next = applyJsonPatch(object, patch.body as [])
  const { finalizers, ...metadata } = next.metadata
  return { ...next, metadata: { ...metadata, ...(finalizers?.length && { finalizers }) } }
}
