import { isConflict, isInvalid, isMissing, isOutdated } from '@csi-sidecars/kube-client'
import { jsonEqual } from '@csi-sidecars/kube-types'

/** A write that depends on the state of an object which other clients write too. */
export interface LatestUpdate<State, Write, Saved> {
  /** The largest number of writes. */
  readonly tries: number
  /** Returns the newest known state. Undefined if the object is gone or recreated. */
  readonly latest: () => State | undefined | Promise<State | undefined>
  /** Builds the write from a state. Undefined if nothing is left to change. */
  readonly build: (state: State) => Write | undefined | Promise<Write | undefined>
  /** Sends a write that the API server refuses for an outdated state: by a version, a `test` or a UID. */
  readonly send: (write: Write) => Promise<Saved>
  /** Reads the object, so that `latest` returns its newest state. Absent if `latest` reads the object itself. */
  readonly refresh?: () => Promise<void>
  /**
   * Reports whether an outdated state may be the reason of a failed write. Default: `isOutdated`. For a write that adds
   * a finalizer, the status Invalid is such a failure: an object in deletion accepts no new finalizers.
   */
  readonly mayBeOutdated?: (refusal: unknown) => boolean
}

export type UpdateResult<State, Saved> =
  | { readonly kind: 'written'; readonly saved: Saved }
  | { readonly kind: 'unchanged'; readonly state: State }
  | { readonly kind: 'gone' }

/** The value of `mayBeOutdated` for a write that adds a finalizer. */
export function mayBeTooLate(refusal: unknown): boolean {
  return isConflict(refusal) || isInvalid(refusal)
}

/**
 * Writes a change that is built from the newest known state of an object. If another client has changed the object
 * before, reads it and builds the change again.
 *
 * Guarantees: each write is built from a state that was read after the failure of the write before. A write that was
 * refused as invalid is not sent again unless it differs: the same write again means that no other client is the reason.
 *
 * Caveats: `build` may run several times. A deleted object is an error of `send`, and never a reason to try again.
 *
 * Errors: throws the error of `send` after the last try, and every error that does not mean an outdated state. Throws
 * the errors of `latest` and `refresh`.
 */
export async function updateLatest<State, Write, Saved>(
  update: LatestUpdate<State, Write, Saved>,
): Promise<UpdateResult<State, Saved>> {
  const { tries, mayBeOutdated = isOutdated } = update
  let refused: { readonly write: Write; readonly error: unknown } | undefined
  for (let left = tries; ; left -= 1) {
    const state = await update.latest()
    if (state === undefined) return { kind: 'gone' }
    const write = await update.build(state)
    if (write === undefined) return { kind: 'unchanged', state }
    if (refused !== undefined && isInvalid(refused.error) && jsonEqual(refused.write, write)) throw refused.error
    try {
      return { kind: 'written', saved: await update.send(write) }
    } catch (error) {
      if (left <= 1 || isMissing(error) || !mayBeOutdated(error)) throw error
      refused = { write, error }
    }
    await update.refresh?.()
  }
}
