import type { Resource } from '@csi-sidecars/kube-types'
import { type Ref, refused } from '../harness/api/api.ts'
import type { TestContext } from '../harness/context.ts'
import { pairOf } from './back-end.ts'

const FINALIZER = 'example.com/foreign'
/** The annotation that other writers set. */
export const NOTE = 'example.com/note'

interface Metadata {
  readonly name?: string | undefined
  readonly uid?: string | undefined
  readonly resourceVersion?: string | undefined
  readonly finalizers?: readonly string[] | undefined
  readonly annotations?: Readonly<Record<string, string>> | undefined
  readonly deletionTimestamp?: string | undefined
}
interface Kept {
  readonly metadata?: Metadata | undefined
}

/** The finalizer and the annotation that other writers put on objects. No write of a sidecar may change them. */
export class Foreign {
  readonly #t: TestContext
  readonly #finalized = new Set<string>()
  readonly #notes = new Map<string, string>()
  #written = 0

  constructor(t: TestContext) {
    this.#t = t
  }

  /** Adds the finalizer of another writer to an object, or removes it. */
  async toggleFinalizer(resource: Resource<Kept>, ref: Ref): Promise<void> {
    const object = await this.#t.api.find(resource, ref)
    const had = object?.metadata?.finalizers?.includes(FINALIZER) === true
    // The API server forbids new finalizers on a deleted object.
    if (!had && object?.metadata?.deletionTimestamp !== undefined) return
    const uid = await editFinalizers(this.#t, { resource, ...ref }, (all) =>
      had ? all.filter((each) => each !== FINALIZER) : [...all, FINALIZER],
    )
    if (uid === undefined) return
    if (had) this.#finalized.delete(uid)
    else this.#finalized.add(uid)
  }

  /** Sets the annotation of another writer to a new value. Every third call removes the annotation. */
  async annotate(resource: Resource<Kept>, ref: Ref): Promise<void> {
    this.#written += 1
    const value = this.#written % 3 === 0 ? null : `note-${this.#written}`
    const { uid } = (await this.#t.api.find(resource, ref))?.metadata ?? {}
    if (uid === undefined) return
    const body = { metadata: { uid, annotations: { [NOTE]: value } } }
    if (await refused(this.#t.api.merge(resource, ref, body))) return
    if (value === null) this.#notes.delete(uid)
    else this.#notes.set(uid, value)
  }

  /** Reports the finalizers and annotations of other writers that were changed. Ignores the finalizers in `ours`. */
  troubles({ metadata }: Kept, ours: readonly string[] = []): readonly string[] {
    const uid = metadata?.uid ?? ''
    const left = metadata?.finalizers?.filter((each) => !ours.includes(each)) ?? []
    const expectedFinalizers = this.#finalized.has(uid) ? [FINALIZER] : []
    const note = metadata?.annotations?.[NOTE]
    return [
      ...(left.join() === expectedFinalizers.join()
        ? []
        : [`has the foreign finalizers [${left}] instead of [${expectedFinalizers}]`]),
      ...(note === this.#notes.get(uid) ? [] : [`has the note ${note} instead of ${this.#notes.get(uid)}`]),
    ]
  }
}

export function holds({ metadata }: Kept, finalizer: string): boolean {
  return metadata?.finalizers?.includes(finalizer) === true
}

/** Changes an object's finalizers, with retries after conflicts. Returns the UID; undefined if the object is gone. */
export async function editFinalizers(
  t: TestContext,
  { resource, ...ref }: Ref & { readonly resource: Resource<Kept> },
  change: (all: readonly string[]) => readonly string[],
): Promise<string | undefined> {
  for (let tries = 0; tries < 20; tries += 1) {
    const { uid, resourceVersion, finalizers = [] } = (await t.api.find(resource, ref))?.metadata ?? {}
    if (uid === undefined) return undefined
    const body = { metadata: { uid, resourceVersion, finalizers: change(finalizers) } }
    if (!(await refused(t.api.merge(resource, ref, body)))) return uid
  }
  throw new Error(`the finalizers of ${resource.kind} ${ref.name} change all the time`)
}

/** Reports whether a volume may be attached to several nodes. */
export function isShared(index: number): boolean {
  return index % 4 === 0
}

export function isInline(index: number): boolean {
  return index % 4 === 3
}

/** The names and IDs of volumes and nodes. A recreated volume or node keeps its name, but gets another ID. */
export class Identities {
  readonly #name: (suffix: string) => string
  readonly #nodes = new Map<number, number>()
  readonly #handles = new Map<number, number>()

  constructor(name: (suffix: string) => string) {
    this.#name = name
  }

  attachment(index: number, node: number): string {
    return this.#name(`va-${index}-${node}`)
  }

  volume(index: number): string {
    return this.#name(`disk-${index}`)
  }

  handle(index: number): string {
    return `${this.volume(index)}-handle-${this.#handles.get(index) ?? 0}`
  }

  node(node: number): string {
    return this.#name(`node-${node}`)
  }

  nodeId(node: number): string {
    return `${this.node(node)}-id-${this.#nodes.get(node) ?? 0}`
  }

  pair(index: number, node: number): string {
    return pairOf(this.handle(index), this.nodeId(node))
  }

  replaceHandle(index: number): void {
    this.#handles.set(index, (this.#handles.get(index) ?? 0) + 1)
  }

  replaceNode(node: number): void {
    this.#nodes.set(node, (this.#nodes.get(node) ?? 0) + 1)
  }
}
