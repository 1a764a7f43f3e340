import { unreachable } from '@csi-sidecars/base'
import { ApiError, isGone, isTooManyRequests } from '@csi-sidecars/kube-client'

/** The request that a watcher sends next, or the watch that it continues. */
export type WatchState =
  /** A streaming list: a watch that begins with all existing objects, and continues with changes. */
  | { readonly kind: 'streamList'; readonly failures: number }
  /** A list in pages, or in one response after a page token has expired. */
  | { readonly kind: 'pageList'; readonly inPages: boolean; readonly canStream: boolean }
  /** A watch from the version `from`. `sawNoEvent`: no event has arrived since the list. */
  | {
      readonly kind: 'watch'
      readonly from: string
      readonly canStream: boolean
      readonly failures: number
      readonly sawNoEvent: boolean
    }

/** The result of a request, or a frame of its stream. */
export type WatchReply =
  /** The list is complete, as of this version. */
  | { readonly kind: 'listed'; readonly resourceVersion: string }
  /** The watch has delivered a change or a bookmark. The store contains all changes up to this version. */
  | { readonly kind: 'seen'; readonly resourceVersion: string }
  /** The stream has ended. `isBrief`: it ended soon and without a frame, so the next request follows after a pause. */
  | { readonly kind: 'ended'; readonly why: EndCause; readonly error: unknown; readonly isBrief: boolean }
  /** The request was refused or got no answer. */
  | { readonly kind: 'refused'; readonly error: unknown }

/**
 * `unmarked`: the streaming list had no final bookmark, probably because the server does not support streaming lists.
 * `outdated`: the watcher ended the stream, because a caller needs a newer list.
 */
export type EndCause = 'closed' | 'broken' | 'silent' | 'badFrame' | 'error' | 'unmarked' | 'outdated'

/** The next state of a watch. */
export interface WatchStep {
  readonly state: WatchState
  /** True if the next request waits for the back-off. */
  readonly mustWait: boolean
}

export const INITIAL_STATE: WatchState = { kind: 'streamList', failures: 0 }

/** After this number of consecutive failures the watcher sends another kind of request. */
const MAX_FAILURES = 5

/**
 * Returns the next request of a watcher. Pure. The watcher resumes from a version if possible, because a list is
 * expensive. It lists if it may have missed a change.
 */
export function nextStep(state: WatchState, reply: WatchReply): WatchStep {
  switch (reply.kind) {
    case 'listed':
      return continueAtOnce({
        kind: 'watch',
        from: reply.resourceVersion,
        canStream: isStreamable(state),
        failures: 0,
        sawNoEvent: true,
      })
    case 'seen':
      return continueAtOnce(
        state.kind === 'watch' ? { ...state, from: reply.resourceVersion, failures: 0, sawNoEvent: false } : state,
      )
    case 'ended':
      return afterEnd(state, reply)
    case 'refused':
      return afterRefusal(state, reply.error)
    default:
      return unreachable(reply)
  }
}

function afterEnd(state: WatchState, { why, error, isBrief }: WatchReply & { kind: 'ended' }): WatchStep {
  switch (why) {
    case 'error':
      return afterRefusal(state, error)
    case 'unmarked':
      return continueAtOnce(PAGE_LIST)
    case 'outdated':
      return continueAtOnce(newList(state))
    case 'badFrame':
      return state.kind === 'watch'
        ? { state: newList(state), mustWait: isBrief || state.sawNoEvent }
        : afterFailedList(state)
    case 'closed':
    case 'broken':
    case 'silent':
      return state.kind === 'watch' ? { state, mustWait: isBrief } : afterFailedList(state)
    default:
      return unreachable(why)
  }
}

function afterRefusal(state: WatchState, error: unknown): WatchStep {
  switch (state.kind) {
    case 'streamList':
      if (!isTemporary(error)) return continueAtOnce(PAGE_LIST)
      return isServerError(error) ? afterFailedList(state) : continueAfterPause(state)
    case 'pageList':
      // A page token expires if a list takes longer than the server keeps its history. A list in one response has no
      // token.
      return isGone(error)
        ? { state: { ...state, inPages: false }, mustWait: !state.inPages }
        : continueAfterPause({ ...state, inPages: true })
    case 'watch':
      // If the version of a list expires before the first event, a pause prevents lists in rapid succession.
      if (isGone(error)) return { state: newList(state), mustWait: state.sawNoEvent }
      if (!isTemporary(error) || isVersionTooLarge(error)) return continueAfterPause(newList(state))
      if (!isServerError(error)) return continueAfterPause(state)
      return state.failures === MAX_FAILURES
        ? continueAfterPause(newList(state))
        : continueAfterPause({ ...state, failures: state.failures + 1 })
    default:
      return unreachable(state)
  }
}

/** Switches to pages after repeated failures: a streaming list may be too large for a proxy. */
function afterFailedList(state: WatchState): WatchStep {
  if (state.kind !== 'streamList') return continueAfterPause(state)
  return state.failures === MAX_FAILURES
    ? continueAfterPause(PAGE_LIST)
    : continueAfterPause({ ...state, failures: state.failures + 1 })
}

/** A list in pages. Later lists are paged too, because streaming has failed. */
const PAGE_LIST: WatchState = { kind: 'pageList', inPages: true, canStream: false }

function newList(state: WatchState): WatchState {
  return isStreamable(state) ? INITIAL_STATE : PAGE_LIST
}

function isStreamable(state: WatchState): boolean {
  return state.kind === 'streamList' || state.canStream
}

function continueAtOnce(state: WatchState): WatchStep {
  return { state, mustWait: false }
}

function continueAfterPause(state: WatchState): WatchStep {
  return { state, mustWait: true }
}

/** Reports whether the same request may succeed later: after no answer, a 429, or an error inside the server. */
function isTemporary(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 0 || isTooManyRequests(error) || error.code >= 500)
}

/** Reports whether the server failed internally. The request itself may be the cause. */
function isServerError(error: unknown): boolean {
  return error instanceof ApiError && error.code >= 500
}

/** Reports whether the requested version is newer than the server's, for example after a restore from a backup. */
function isVersionTooLarge(error: unknown): boolean {
  const causes = error instanceof ApiError ? error.details?.causes : undefined
  return causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge') ?? false
}
