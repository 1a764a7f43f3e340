import type { Resource } from '@csi-sidecars/kube-types'
import type { Ref } from '../harness/api/api.ts'
import { refused } from '../harness/api/api.ts'
import type { TestContext } from '../harness/context.ts'

const FINALIZER = 'example.com/foreign'
/** The annotation. */
export const NOTE = 'example.com/note'

export interface Metadata {
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

  /** Adds the finalizer, or removes the existing one. */
  async toggleFinalizer(resource: Resource<Kept>, ref: Ref): Promise<void> {
    const object = await this.#t.api.find(resource, ref)
    const had = object?.metadata?.finalizers?.includes(FINALIZER) === true
    // The API server forbids it.
    if (!had && object?.metadata?.deletionTimestamp !== undefined) return
    const uid = await editFinalizers(this.#t, { resource, ...ref }, (all) =>
      had ? all.filter((each) => each !== FINALIZER) : [...all, FINALIZER],
    )
    if (uid === undefined) return
    if (had) this.#finalized.delete(uid)
    else this.#finalized.add(uid)
  }

  /** Writes the annotation, each time another value; every third time it is removed. */
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

  /** Returns the changes of foreign finalizers and annotations. `ours` are finalizers that a sidecar may add. */
  troubles({ metadata }: Kept, ours: readonly string[] = []): readonly string[] {
    const uid = metadata?.uid ?? ''
    const left = metadata?.finalizers?.filter((each) => !ours.includes(each)) ?? []
    const wanted = this.#finalized.has(uid) ? [FINALIZER] : []
    const note = metadata?.annotations?.[NOTE]
    return [
      ...(left.join() === wanted.join() ? [] : [`has the foreign finalizers [${left}] instead of [${wanted}]`]),
      ...(note === this.#notes.get(uid) ? [] : [`has the note ${note} instead of ${this.#notes.get(uid)}`]),
    ]
  }
}

export function holds({ metadata }: Kept, finalizer: string): boolean {
  return metadata?.finalizers?.includes(finalizer) === true
}

/** Replaces the list of finalizers that was just read, and tries again when it has changed. Returns the object's uid. */
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
