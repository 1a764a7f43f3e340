import { unreachable } from '@csi-sidecars/base'
import { ApiError, isGone, isTooManyRequests } from '@csi-sidecars/kube-client'

/** The request that a watcher sends next, or the watch that it continues. */
export type WatchState =
  /** A streaming list: a watch that begins with all existing objects, and continues with changes. */
  | { readonly at: 'streamList'; readonly failures: number }
  /** A list in pages, or in one response after a page token has expired. */
  | { readonly at: 'pageList'; readonly paged: boolean; readonly streamable: boolean }
  /** A watch from the version `from`. `fresh`: no event has arrived since the list. */
  | {
      readonly at: 'watch'
      readonly from: string
      readonly streamable: boolean
      readonly failures: number
      readonly fresh: boolean
    }

/** The result of a request, or a frame of its stream. */
export type WatchReply =
  /** The list is complete, as of this version. */
  | { readonly kind: 'listed'; readonly resourceVersion: string }
  /** The watch has delivered a change or a bookmark. The store contains all changes up to this version. */
  | { readonly kind: 'seen'; readonly resourceVersion: string }
  /** The stream has ended. `brief`: it ended soon and without a frame, so the next request follows after a pause. */
  | { readonly kind: 'ended'; readonly why: EndCause; readonly error: unknown; readonly brief: boolean }
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
  readonly wait: boolean
}

export const START: WatchState = { at: 'streamList', failures: 0 }

/** After this number of consecutive failures the watcher sends another kind of request. */
const MAX_FAILURES = 5

/**
 * Returns the next request of a watcher. Pure. The watcher resumes from a version if possible, because a list is
 * expensive. It lists if it may have missed a change.
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
      // A page token expires if a list takes longer than the server keeps its history. A list in one response has no
      // token.
      return isGone(error) ? { state: { ...state, paged: false }, wait: !state.paged } : wait({ ...state, paged: true })
    case 'watch':
      // If the version of a list expires before the first event, a pause prevents lists in rapid succession.
      if (isGone(error)) return { state: list(state), wait: state.fresh }
      if (!isPassing(error) || isAhead(error)) return wait(list(state))
      if (!isServersFault(error)) return wait(state)
      return state.failures === MAX_FAILURES ? wait(list(state)) : wait({ ...state, failures: state.failures + 1 })
    default:
      return unreachable(state)
  }
}

/** Switches to pages after repeated failures: a streaming list may be too large for a proxy. */
function afterFailedList(state: WatchState): WatchStep {
  if (state.at !== 'streamList') return wait(state)
  return state.failures === MAX_FAILURES ? wait(PAGE_LIST) : wait({ ...state, failures: state.failures + 1 })
}

/** A list in pages. Later lists are paged too, because streaming has failed. */
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

/** Reports whether the same request may succeed later: after no answer, a 429, or an error inside the server. */
function isPassing(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 0 || isTooManyRequests(error) || error.code >= 500)
}

/** Reports whether the server failed internally. The request itself may be the cause. */
function isServersFault(error: unknown): boolean {
  return error instanceof ApiError && error.code >= 500
}

/** Reports whether the requested version is newer than the server's, for example after a restore from a backup. */
function isAhead(error: unknown): boolean {
  const causes = error instanceof ApiError ? error.details?.causes : undefined
  return causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge') ?? false
}
