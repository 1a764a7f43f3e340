import type { PendingWork } from '@csi-sidecars/controller'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { FailureSeriesTable, PERIOD_MS, QUIET_MS, type SelectedEvents } from './due-events.ts'

const work = (name: string, change: Partial<PendingWork> = {}): PendingWork => ({
  sidecar: 'external-attacher',
  key: name,
  operation: 'attach',
  object: { kind: 'VolumeAttachment', namespace: '', name, uid: name },
  state: 'backoff',
  reason: 'Internal',
  since: 0,
  stuck: false,
  tries: 1,
  message: 'no',
  waitsFor: [],
  ...change,
})

let table: FailureSeriesTable
beforeEach(() => {
  table = new FailureSeriesTable()
})

function look(pending: readonly PendingWork[], now: number, most: number): SelectedEvents {
  const looking = table.select(now, most)
  for (const each of pending) looking.add(each)
  return looking.result()
}

/** Chooses the due events, and marks them as written, as the reporter does. */
function report(
  pending: readonly PendingWork[],
  now: number,
  most = 100,
): { reported: string[] } & Pick<SelectedEvents, 'skipped'> {
  const { chosen, skipped } = look(pending, now, most)
  for (const { work: reported, series } of chosen) {
    Object.assign(series, {
      nextEventAt: now + PERIOD_MS,
      reportedAt: now,
      tries: reported.tries,
      message: reported.message,
    })
  }
  return { reported: chosen.map(({ work: { key } }) => key), skipped }
}

describe('FailureSeriesTable', () => {
  it.each<[string, Partial<PendingWork>, number]>([
    ['is less than ten seconds old', {}, QUIET_MS - 1],
    ['has not failed', { message: undefined }, QUIET_MS],
    [
      'belongs to another kind of object',
      { object: { kind: 'PersistentVolume', namespace: '', name: 'a', uid: 'a' } },
      QUIET_MS,
    ],
    ['belongs to a deleted object', { object: undefined }, QUIET_MS],
    ['removes a finalizer from a volume', { operation: 'release' }, QUIET_MS],
  ])('there is no event for a pending operation that %s', (_, change, now) => {
    expect(report([work('a', change)], now).reported).toEqual([])
  })

  it('a failing operation gets at most one event a minute', () => {
    expect(report([work('a')], QUIET_MS).reported).toEqual(['a'])
    expect(report([work('a', { tries: 2 })], QUIET_MS + PERIOD_MS - 1).reported).toEqual([])
    expect(report([work('a', { tries: 3 })], QUIET_MS + PERIOD_MS).reported).toEqual(['a'])
  })

  it('an object gets its next event only after a new try or a new message', () => {
    report([work('a')], QUIET_MS)
    expect(report([work('a')], QUIET_MS + PERIOD_MS).reported).toEqual([])
    expect(report([work('a', { message: 'other' })], QUIET_MS + PERIOD_MS).reported).toEqual(['a'])
  })

  it('an object gets an event at once if its operation changes or the object is recreated', () => {
    report([work('a')], QUIET_MS)
    expect(report([work('a', { operation: 'detach' })], QUIET_MS).reported).toEqual(['a'])
    const object = { kind: 'VolumeAttachment', namespace: '', name: 'a', uid: 'other' }
    expect(report([work('a', { object })], QUIET_MS).reported).toEqual(['a'])
  })
})

describe('full table', () => {
  const three = (tries: number): PendingWork[] => ['a', 'b', 'c'].map((name) => work(name, { tries }))

  it('failing objects get events in turn, beginning with the object that has failed for the longest time', () => {
    expect(report([work('young', { since: 1 }), work('old')], 20_000, 1).reported).toEqual(['old'])
    expect(report([work('young', { since: 1, tries: 2 }), work('old', { tries: 2 })], 90_000, 1).reported).toEqual([
      'young',
    ])
  })

  it('an object that appears twice in the list of pending operations gets one event', () => {
    expect(look([work('a'), work('b'), work('a')], QUIET_MS, 3).chosen.map((event) => event.work.key)).toEqual([
      'a',
      'b',
    ])
  })

  it('a skipped event is counted for each minute in which a failing object gets no event', () => {
    const skips = [0, 5_000, 59_999, 60_000, 65_000, 119_999, 120_000].map(
      (ms) => report(three(ms), QUIET_MS + ms, ms === 0 ? 1 : 0).skipped,
    )
    expect(skips).toEqual([0, 0, 0, 2, 0, 0, 3])
  })
})

describe('recovery', () => {
  it('the chosen event of an object is dropped when the object recovers', () => {
    const { chosen } = look([work('a'), work('b')], QUIET_MS, 2)
    table.take(work('a'))
    expect(chosen.map((event) => [event.work.key, table.stillFails(event)])).toEqual([
      ['a', false],
      ['b', true],
    ])
  })

  it('the table of failures returns the events of a recovered object only once', () => {
    report([work('a')], QUIET_MS)
    expect(table.take(work('a'))).toMatchObject({ tries: 1 })
    expect(table.take(work('a'))).toBeUndefined()
  })

  it('the table of failures returns no events for a recovered object without a written event', () => {
    look([work('a')], QUIET_MS, 0)
    expect(table.take(work('a'))).toBeUndefined()
    report([work('b')], QUIET_MS)
    report([], QUIET_MS)
    expect([table.take(work('b')), table.size]).toEqual([undefined, 0])
  })
})
