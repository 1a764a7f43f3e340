import { ApiError } from '@csi-sidecars/kube-client'
import { describe, expect, test } from '@jest/globals'
import { next, START, type WatchReply, type WatchState } from './watch-state.ts'

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
const ended = (why: Why, brief = false): WatchReply => ({ kind: 'ended', why, error: undefined, brief })
const failed = (cause: ApiError): WatchReply => ({ kind: 'ended', why: 'error', error: cause, brief: false })
const listed: WatchReply = { kind: 'listed', resourceVersion: '9' }

const stream = (failures = 0): WatchState => ({ at: 'streamList', failures })
const pages = (paged = true, streamable = false): WatchState => ({ at: 'pageList', paged, streamable })
const watch = (failures = 0, streamable = true, fresh = false): WatchState => ({
  at: 'watch',
  from: '7',
  streamable,
  failures,
  fresh,
})
const fresh = (streamable = true): WatchState => ({ ...watch(0, streamable, true), from: '9' }) as WatchState

const GO = false
const WAIT = true

describe.each<[string, WatchState, [what: string, reply: WatchReply, state: WatchState, wait: boolean][]]>([
  [
    'a streaming list',
    stream(),
    [
      ['that is complete is watched on', listed, fresh(), GO],
      ['that the server does not know becomes pages', refused(invalid), pages(), GO],
      ['that is forbidden becomes pages, whose error says why', refused(forbidden), pages(), GO],
      ['that falls silent before its mark becomes pages', ended('unmarked'), pages(), GO],
      ['that gets no answer is tried again', refused(unreachable), stream(), WAIT],
      ['that is throttled is tried again', refused(throttled), stream(), WAIT],
      ['that fails in the server is retried with a limit', refused(broken), stream(1), WAIT],
      ['that breaks off is retried with a limit', ended('broken'), stream(1), WAIT],
      ['with an invalid frame is retried with a limit', ended('badFrame'), stream(1), WAIT],
      ['that ends with an error becomes pages', failed(invalid), pages(), GO],
    ],
  ],
  [
    'a streaming list that failed five times',
    stream(5),
    [
      ['and fails again becomes pages', ended('broken'), pages(), WAIT],
      ['is still tried while there is no answer', refused(unreachable), stream(5), WAIT],
    ],
  ],
  [
    'a list in pages',
    pages(),
    [
      ['that is complete is watched from', listed, fresh(false), GO],
      ['whose token expires is requested in one piece', refused(expired), pages(false), GO],
      ['that is forbidden is retried without limit', refused(forbidden), pages(), WAIT],
      ['that gets no answer is retried without limit', refused(unreachable), pages(), WAIT],
    ],
  ],
  [
    'a list in one piece',
    pages(false),
    [
      ['that fails is tried in pages again', refused(broken), pages(), WAIT],
      ['that still expires is retried after a pause', refused(expired), pages(false), WAIT],
    ],
  ],
  [
    'a watch',
    watch(),
    [
      [
        'continues from what it has seen',
        { kind: 'seen', resourceVersion: '8' },
        { ...watch(), from: '8' } as WatchState,
        GO,
      ],
      ['that the server ends is opened again at once, without a list', ended('closed'), watch(), GO],
      ['that breaks is opened again at once, without a list', ended('broken'), watch(), GO],
      ['that falls silent is opened again at once, without a list', ended('silent'), watch(), GO],
      ['that ends before it began is opened again after a pause', ended('closed', true), watch(), WAIT],
      ['with a bad frame may have lost something: list', ended('badFrame'), START, GO],
      ['whose version has expired lists', failed(expired), START, GO],
      ['whose version has expired before it began lists', refused(expired), START, GO],
      ['that gets no answer is tried again without limit', refused(unreachable), watch(), WAIT],
      ['that is throttled is retried without limit', refused(throttled), watch(), WAIT],
      ['that is throttled midway is tried again', failed(throttled), watch(), WAIT],
      ['that fails in the server is retried with a limit', refused(broken), watch(1), WAIT],
      ['that is forbidden lists, whose error says why', refused(forbidden), START, WAIT],
      ['that is ahead of the server lists', refused(ahead), START, WAIT],
    ],
  ],
  [
    'a watch without events since its list',
    fresh(),
    [
      ['and whose version has still expired lists after a pause', failed(expired), START, WAIT],
      ['and whose version had expired before it began lists after a pause', refused(expired), START, WAIT],
      ['and then a bad frame lists after a pause', ended('badFrame'), START, WAIT],
      ['that the server ends is opened again at once, and is no older for it', ended('closed'), fresh(), GO],
      ['and then brings something is like any other', { kind: 'seen', resourceVersion: '7' }, watch(), GO],
    ],
  ],
  [
    'a watch that failed five times at the server',
    watch(5),
    [
      ['and again lists', refused(broken), START, WAIT],
      [
        'and that then brings an event has its count reset',
        { kind: 'seen', resourceVersion: '8' },
        { ...watch(), from: '8' } as WatchState,
        GO,
      ],
      ['is still tried while there is no answer', refused(unreachable), watch(5), WAIT],
    ],
  ],
  ['a watch of a server that streams no lists', watch(0, false), [['lists in pages', refused(expired), pages(), GO]]],
])('%s', (_, state, rows) => {
  test.each(rows)('%s', (_what, reply, expected, wait) => {
    expect(next(state, reply)).toEqual({ state: expected, wait })
  })
})
