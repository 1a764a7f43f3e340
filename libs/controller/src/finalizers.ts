import { type LatestUpdate, mayBeTooLate, updateLatest } from './update-latest.ts'

/** A finalizer of this process on one object that other clients write too. */
export interface FinalizedObject<State, Write, Saved>
  extends Pick<LatestUpdate<State, Write, Saved>, 'tries' | 'latest' | 'refresh' | 'send'> {
  /** Reports whether a state has the finalizer. */
  readonly hasFinalizer: (state: State) => boolean
}

/** The write that comes before the work. */
export interface FinalizerAddition<State, Write, Saved> extends FinalizedObject<State, Write, Saved> {
  /** Reports whether the object is being deleted, so that it accepts no new finalizer. Default: it is not. */
  readonly isDeleting?: (state: State) => boolean
  /** Builds the write that adds the finalizer, and maybe other fields. Undefined if the state has all of them. */
  readonly add: (state: State) => Write | undefined
}

/** The write that comes after the clean-up. */
export interface FinalizerRemoval<State, Write, Saved> extends FinalizedObject<State, Write, Saved> {
  /** Reports whether the clean-up is complete. Asked for each state, right before the write. Default: it is. */
  readonly isCleanedUp?: (state: State) => boolean | Promise<boolean>
  /** Builds the write that removes the finalizer and keeps all others. */
  readonly remove: (state: State) => Write | undefined
  /** Reports whether a failed write may be repeated after a read. Default: `isOutdated`. */
  readonly mayBeOutdated?: (failure: unknown) => boolean
}

export type AddedFinalizer<Saved> =
  | { readonly kind: 'added'; readonly saved: Saved }
  | { readonly kind: 'present' }
  | { readonly kind: 'deleting'; readonly hasFinalizer: boolean }
  | { readonly kind: 'gone' }

export type RemovedFinalizer<Saved> =
  | { readonly kind: 'removed'; readonly saved: Saved }
  | { readonly kind: 'absent' }
  | { readonly kind: 'needed' }
  | { readonly kind: 'gone' }

/**
 * Adds a finalizer before work whose result needs a clean-up. The expected flow of a controller:
 *
 * 1. `addFinalizer`. Begin the work only after `added` or `present`.
 * 2. Work. Until the clean-up, each run may find the finalizer, and repeats the work.
 * 3. Clean up when the object is being deleted, or when the work has ended.
 * 4. `removeFinalizer`. The API server then deletes an object that is being deleted.
 *
 * Guarantees: after `added` and `present` the API server has stored the finalizer, so the object cannot disappear before
 * a write removes the finalizer. Finalizers of other clients stay. A recreated object never gets the finalizer, if
 * `latest` returns undefined for it and the write is guarded by the UID or the version.
 *
 * Caveats: a person or another client may remove the finalizer at any time. After `deleting` the work may only be
 * continued, and only if the object has the finalizer.
 *
 * Errors: those of `updateLatest`. After a lost answer the finalizer may be stored. The next call then finds it.
 */
export async function addFinalizer<State, Write, Saved>(
  addition: FinalizerAddition<State, Write, Saved>,
): Promise<AddedFinalizer<Saved>> {
  const { add, hasFinalizer, isDeleting = () => false } = addition
  const result = await updateLatest({
    ...addition,
    build: (state) => (isDeleting(state) && !hasFinalizer(state) ? undefined : add(state)),
    mayBeOutdated: mayBeTooLate,
  })
  switch (result.kind) {
    case 'written':
      return { kind: 'added', saved: result.saved }
    case 'unchanged':
      if (isDeleting(result.state)) return { kind: 'deleting', hasFinalizer: hasFinalizer(result.state) }
      return { kind: 'present' }
    default:
      return result
  }
}

/**
 * Removes a finalizer after the clean-up. `addFinalizer` describes the flow.
 *
 * Guarantees: `isCleanedUp` is asked for exactly the state from which the write is built. The API server refuses the
 * write if the object has changed since, and `isCleanedUp` is asked again. Finalizers of other clients stay.
 *
 * Caveats: work may begin between `isCleanedUp` and the answer of the API server. If other runs can begin it, the caller
 * must exclude them.
 *
 * Errors: those of `updateLatest`. After a lost answer the finalizer may be removed and the object gone.
 */
export async function removeFinalizer<State, Write, Saved>(
  removal: FinalizerRemoval<State, Write, Saved>,
): Promise<RemovedFinalizer<Saved>> {
  const { remove, hasFinalizer, isCleanedUp = () => true } = removal
  const result = await updateLatest({
    ...removal,
    build: async (state) => (hasFinalizer(state) && (await isCleanedUp(state)) ? remove(state) : undefined),
  })
  switch (result.kind) {
    case 'written':
      return { kind: 'removed', saved: result.saved }
    case 'unchanged':
      return { kind: hasFinalizer(result.state) ? 'needed' : 'absent' }
    default:
      return result
  }
}
