import { ApiError } from '@csi-sidecars/kube-client'
import { describe, expect, test } from '@jest/globals'
import { INITIAL_STATE, nextStep, type WatchReply, type WatchState } from './watch-state.ts'

const error = (code: number, reason = '', causes?: { reason: string }[]): ApiError =>
  new ApiError({ code, reason, message: reason, details: causes && { causes } })
const unreachable = error(0)
const forbidden = error(403, 'Forbidden')
const invalid = error(422, 'Invalid')
const throttled = error(429, 'TooManyRequests')
const broken = error(500, 'InternalError')
const expired = error(410, 'Expired')
const ahead = error(504, 'Timeout', [{ reason: 'ResourceVersionTooLarge' }])

const refused = (cause: unknown): WatchReply => ({ kind: 'refused', error: cause })
type Why = (WatchReply & { kind: 'ended' })['why']
const ended = (why: Why, isBrief = false): WatchReply => ({ kind: 'ended', why, error: undefined, isBrief })
const failed = (cause: ApiError): WatchReply => ({ kind: 'ended', why: 'error', error: cause, isBrief: false })
const listed: WatchReply = { kind: 'listed', resourceVersion: '9' }

const stream = (failures = 0): WatchState => ({ kind: 'streamList', failures })
const pages = (inPages = true, canStream = false): WatchState => ({ kind: 'pageList', inPages, canStream })
const watch = (failures = 0, canStream = true, sawNoEvent = false): WatchState => ({
  kind: 'watch',
  from: '7',
  canStream,
  failures,
  sawNoEvent,
})
const fresh = (streamable = true): WatchState => ({ ...watch(0, streamable, true), from: '9' }) as WatchState

const GO = false
const WAIT = true

describe.each<[string, WatchState, [name: string, reply: WatchReply, state: WatchState, wait: boolean][]]>([
  [
    'a streaming list',
    stream(),
    [
      ['a complete list continues as a watch on the same stream', listed, fresh(), GO],
      ['the informer lists in pages if the server does not support streaming', refused(invalid), pages(), GO],
      ['a forbidden list is paged, so that the error of the list is logged', refused(forbidden), pages(), GO],
      ['a streaming list without a final bookmark is replaced by pages', ended('unmarked'), pages(), GO],
      ['a streaming list without an answer is streamed again', refused(unreachable), stream(), WAIT],
      ['a throttled list is streamed again', refused(throttled), stream(), WAIT],
      ['an internal error of the server causes a retry with a limit', refused(broken), stream(1), WAIT],
      ['a broken stream is retried with a limit', ended('broken'), stream(1), WAIT],
      ['an invalid frame causes a retry with a limit', ended('badFrame'), stream(1), WAIT],
      ['the informer lists in pages if the streaming list ends with an error', failed(invalid), pages(), GO],
    ],
  ],
  [
    'a streaming list that failed five times',
    stream(5),
    [
      ['the sixth failure of a streaming list causes a list in pages', ended('broken'), pages(), WAIT],
      ['a missing answer does not count as a failure', refused(unreachable), stream(5), WAIT],
    ],
  ],
  [
    'a list in pages',
    pages(),
    [
      ['a complete list in pages continues as a watch from its version', listed, fresh(false), GO],
      ['an expired page token causes a list in one response', refused(expired), pages(false), GO],
      ['a forbidden list in pages is retried without limit', refused(forbidden), pages(), WAIT],
      ['a list in pages without an answer is retried without limit', refused(unreachable), pages(), WAIT],
    ],
  ],
  [
    'a list in one response',
    pages(false),
    [
      ['a failed list in one response is followed by a list in pages', refused(broken), pages(), WAIT],
      ['an expired list in one response is retried after a pause', refused(expired), pages(false), WAIT],
    ],
  ],
  [
    'a watch',
    watch(),
    [
      [
        'the watch continues from the version of its last event',
        { kind: 'seen', resourceVersion: '8' },
        { ...watch(), from: '8' } as WatchState,
        GO,
      ],
      ['a watch that the server ends is opened again at once, without a list', ended('closed'), watch(), GO],
      ['a broken watch is opened again at once, without a list', ended('broken'), watch(), GO],
      ['a silent watch is opened again at once, without a list', ended('silent'), watch(), GO],
      ['a watch that ends at once is opened again after a pause', ended('closed', true), watch(), WAIT],
      ['an invalid frame causes a list, because a change may be lost', ended('badFrame'), INITIAL_STATE, GO],
      ['an expired version causes a list', failed(expired), INITIAL_STATE, GO],
      ['a version that expired before the watch began causes a list', refused(expired), INITIAL_STATE, GO],
      ['a watch without an answer is retried without limit', refused(unreachable), watch(), WAIT],
      ['a throttled watch is retried without limit', refused(throttled), watch(), WAIT],
      ['a watch that is throttled midway is opened again', failed(throttled), watch(), WAIT],
      ['an internal error of the server causes a retry with a limit', refused(broken), watch(1), WAIT],
      [
        'a forbidden watch causes a list, so that the error of the list is logged',
        refused(forbidden),
        INITIAL_STATE,
        WAIT,
      ],
      ['a version that is newer than the server causes a list', refused(ahead), INITIAL_STATE, WAIT],
    ],
  ],
  [
    'a watch without events since its list',
    fresh(),
    [
      ['an expired version causes a list after a pause', failed(expired), INITIAL_STATE, WAIT],
      [
        'a version that expired before the watch began causes a list after a pause',
        refused(expired),
        INITIAL_STATE,
        WAIT,
      ],
      ['an invalid frame causes a list after a pause', ended('badFrame'), INITIAL_STATE, WAIT],
      ['a watch that the server ends is opened again at once and counts as fresh', ended('closed'), fresh(), GO],
      ['a watch with an event no longer counts as fresh', { kind: 'seen', resourceVersion: '7' }, watch(), GO],
    ],
  ],
  [
    'a watch that failed five times at the server',
    watch(5),
    [
      ['the sixth internal error causes a list', refused(broken), INITIAL_STATE, WAIT],
      [
        'an event of the watch resets its count of failures',
        { kind: 'seen', resourceVersion: '8' },
        { ...watch(), from: '8' } as WatchState,
        GO,
      ],
      ['a missing answer does not count as a failure', refused(unreachable), watch(5), WAIT],
    ],
  ],
  ['a watch after a paged list', watch(0, false), [['an expired watch causes pages', refused(expired), pages(), GO]]],
])('%s', (_, state, rows) => {
  test.each(rows)('the next step of the watcher: %s', (_what, reply, expected, wait) => {
    expect(nextStep(state, reply)).toEqual({ state: expected, mustWait: wait })
  })
})
