import { unreachable } from '@csi-sidecars/base'
import { ApiError, isGone, isTooManyRequests } from '@csi-sidecars/kube-client'

/** The next step of a watcher. */
export type WatchState =
  /** A streaming list: a watch that begins with all existing objects, and then continues. */
  | { readonly at: 'streamList'; readonly failures: number }
  /** A list in pages, or in one piece once a page token has expired. */
  | { readonly at: 'pageList'; readonly paged: boolean; readonly streamable: boolean }
  /** Changes after a version up to which the store is complete. `fresh`: none has come since the list. */
  | {
      readonly at: 'watch'
      readonly from: string
      readonly streamable: boolean
      readonly failures: number
      readonly fresh: boolean
    }

/** The result of a step. */
export type WatchReply =
  /** All objects have been seen, as of a version. */
  | { readonly kind: 'listed'; readonly resourceVersion: string }
  /** A change or a bookmark: everything up to a version has been seen. */
  | { readonly kind: 'seen'; readonly resourceVersion: string }
  /** The stream is over. `brief`: it ended soon without a frame, so another stream at once would be useless. */
  | { readonly kind: 'ended'; readonly why: EndCause; readonly error: unknown; readonly brief: boolean }
  /** The request was refused or not answered. */
  | { readonly kind: 'refused'; readonly error: unknown }

/**
 * `unmarked`: a streaming list without a bookmark at its end, as from a server that does not know the option.
 * `outdated`: ended by us, because a caller needs a list that begins now.
 */
export type EndCause = 'closed' | 'broken' | 'silent' | 'badFrame' | 'error' | 'unmarked' | 'outdated'

export interface WatchStep {
  readonly state: WatchState
  /** True if the next step waits. The back-off says how long. */
  readonly wait: boolean
}

export const START: WatchState = { at: 'streamList', failures: 0 }

/** Consecutive failures after which another kind of request is tried. */
const MAX_FAILURES = 5

/**
 * The whole policy of a watcher. Pure. The watcher resumes from a version if possible, because a list is expensive. It
 * lists if it may have missed a change.
 */
export function next(state: WatchState, reply: WatchReply): WatchStep {
  switch (reply.kind) {
    case 'listed':
      return go({ at: 'watch', from: reply.resourceVersion, streamable: isStreamable(state), failures: 0, fresh: true })
    case 'seen':
      return go(state.at === 'watch' ? { ...state, from: reply.resourceVersion, failures: 0, fresh: false } : state)
    case 'ended':
      return afterEnd(state, reply)
    case 'refused':
      return afterRefusal(state, reply.error)
    default:
      return unreachable(reply)
  }
}

function afterEnd(state: WatchState, { why, error, brief }: WatchReply & { kind: 'ended' }): WatchStep {
  switch (why) {
    case 'error':
      return afterRefusal(state, error)
    case 'unmarked':
      return go(PAGE_LIST)
    case 'outdated':
      return go(list(state))
    case 'badFrame':
      return state.at === 'watch' ? { state: list(state), wait: brief || state.fresh } : afterFailedList(state)
    case 'closed':
    case 'broken':
    case 'silent':
      return state.at === 'watch' ? { state, wait: brief } : afterFailedList(state)
    default:
      return unreachable(why)
  }
}

function afterRefusal(state: WatchState, error: unknown): WatchStep {
  switch (state.at) {
    case 'streamList':
      if (!isPassing(error)) return go(PAGE_LIST)
      return isServersFault(error) ? afterFailedList(state) : wait(state)
    case 'pageList':
      // A token expires when the list takes longer than the server's history. A list in one piece has no token.
      return isGone(error) ? { state: { ...state, paged: false }, wait: !state.paged } : wait({ ...state, paged: true })
    case 'watch':
      // A list whose version expires before its watch must not be repeated without a pause.
      if (isGone(error)) return { state: list(state), wait: state.fresh }
      if (!isPassing(error) || isAhead(error)) return wait(list(state))
      if (!isServersFault(error)) return wait(state)
      return state.failures === MAX_FAILURES ? wait(list(state)) : wait({ ...state, failures: state.failures + 1 })
    default:
      return unreachable(state)
  }
}

/** A streaming list that fails repeatedly may be too large for a proxy in between: pages are smaller. */
function afterFailedList(state: WatchState): WatchStep {
  if (state.at !== 'streamList') return wait(state)
  return state.failures === MAX_FAILURES ? wait(PAGE_LIST) : wait({ ...state, failures: state.failures + 1 })
}

/** After a server has refused to stream a list, lists are paged. */
const PAGE_LIST: WatchState = { at: 'pageList', paged: true, streamable: false }

function list(state: WatchState): WatchState {
  return isStreamable(state) ? START : PAGE_LIST
}

function isStreamable(state: WatchState): boolean {
  return state.at === 'streamList' || state.streamable
}

function go(state: WatchState): WatchStep {
  return { state, wait: false }
}

function wait(state: WatchState): WatchStep {
  return { state, wait: true }
}

/** The same request may succeed later: no answer, too many requests, an internal error of the server. */
function isPassing(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 0 || isTooManyRequests(error) || error.code >= 500)
}

/** An internal error of the server: this request may cause it. */
function isServersFault(error: unknown): boolean {
  return error instanceof ApiError && error.code >= 500
}

/** We are ahead of the server, as after its restore from a backup. */
function isAhead(error: unknown): boolean {
  const causes = error instanceof ApiError ? error.details?.causes : undefined
  return causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge') ?? false
}
