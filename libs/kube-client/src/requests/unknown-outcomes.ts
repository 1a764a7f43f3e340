import { abortable } from '@csi-sidecars/base'
import type { ObjectRef, Resource } from '@csi-sidecars/kube-types'
import { ApiError, isForbidden, isNotFound, isOutcomeUnknown } from '../api/api-error.ts'
import type { RereadListener } from '../api/client.ts'

/** An object that an unanswered write may have changed. `reading` resolves with true if it has changed. */
interface UncertainWrite {
  readonly resource: Resource<unknown>
  readonly ref: ObjectRef
  reading: Promise<boolean> | undefined
}

/** Reads one object. The read does not wait for other requests. Rejects if the object does not exist. */
export type ReadObject = (resource: Resource<unknown>, ref: ObjectRef) => Promise<unknown>

/** A write that can be repeated. Each call of `sendOnce` sends the same request. */
export interface SingleWrite<T> {
  readonly signal: AbortSignal | undefined
  sendOnce(): Promise<T>
}

/**
 * Handles writes without an answer, which the server may have carried out. Reads the objects of these writes again at
 * once, so that controllers see the actual state. Delays further writes to an object until the object was read.
 */
export class UnknownOutcomes {
  readonly #read: ReadObject
  readonly #listeners = new Map<string, Set<RereadListener<unknown>>>()
  readonly #uncertainWrites = new Map<string, UncertainWrite>()

  constructor(read: ReadObject) {
    this.#read = read
  }

  listen(resource: Resource<unknown>, listener: RereadListener<unknown>): () => void {
    const name = nameOf(resource)
    const all = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, all.add(listener))
    return () => all.delete(listener)
  }

  /** Sends a write once the outcome of the object's previous write is known. */
  async write<T>(
    object: { resource: Resource<unknown>; ref: ObjectRef; path: string },
    send: SingleWrite<T>,
  ): Promise<T> {
    const { path, ref, resource } = object
    const uncertain = this.#uncertainWrites.get(path)
    if (uncertain !== undefined) await this.#awaitReread(uncertain, path, send.signal)
    try {
      return await send.sendOnce()
    } catch (error) {
      if (isOutcomeUnknown(error) && this.#hasListeners(resource))
        this.#recordUncertain(path, { resource, ref, reading: undefined })
      throw error
    }
  }

  /** Throws a conflict if the object has changed since the caller's decision. */
  async #awaitReread(uncertain: UncertainWrite, path: string, signal: AbortSignal | undefined): Promise<void> {
    if (!(await abortable(this.#reread(uncertain, path), signal))) return
    const message = `${uncertain.ref.name} has changed: a write before this one was carried out without an answer`
    throw new ApiError({ code: 409, reason: 'Conflict', message })
  }

  #recordUncertain(path: string, uncertain: UncertainWrite): void {
    this.#uncertainWrites.set(path, uncertain)
    // If the read fails, the outcome stays unknown, and the next write reads the object again.
    this.#reread(uncertain, path).catch(() => undefined)
  }

  #reread(uncertain: UncertainWrite, path: string): Promise<boolean> {
    uncertain.reading ??= this.#readAgain(uncertain).then(
      (hasChanged) => {
        if (this.#uncertainWrites.get(path) === uncertain) this.#uncertainWrites.delete(path)
        return hasChanged
      },
      (error: unknown) => {
        uncertain.reading = undefined
        throw error
      },
    )
    return uncertain.reading
  }

  async #readAgain({ resource, ref }: UncertainWrite): Promise<boolean> {
    let object: unknown
    try {
      object = await this.#read(resource, ref)
    } catch (error) {
      // Without the permission to read, the outcome stays unknown. The version or the tests in the next write protect it.
      if (isForbidden(error)) return false
      if (!isNotFound(error)) throw error
    }
    let hasChanged = false
    for (const listener of this.#listeners.get(nameOf(resource)) ?? []) hasChanged = listener(ref, object) || hasChanged
    return hasChanged
  }

  #hasListeners(resource: Resource<unknown>): boolean {
    return (this.#listeners.get(nameOf(resource))?.size ?? 0) > 0
  }
}

function nameOf({ group, plural }: Resource<unknown>): string {
  return `${plural}.${group}`
}
