import { FakeClock } from '@csi-sidecars/base/testing'
import type { PendingWork } from '@csi-sidecars/controller'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { FailureSeriesTable, FIRST_EVENT_AFTER_MS, MIN_EVENT_INTERVAL_MS, type SelectedEvents } from './due-events.ts'

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

let clock: FakeClock
let table: FailureSeriesTable
beforeEach(() => {
  clock = new FakeClock({ now: 0 })
  table = new FailureSeriesTable(clock)
})

function select(pending: readonly PendingWork[], maxEvents: number): SelectedEvents {
  const selection = table.select(maxEvents)
  for (const each of pending) selection.add(each)
  return selection.result()
}

/** Chooses the due events `ms` after the start, and records them, as the reporter does. */
async function reportAt(
  ms: number,
  pending: readonly PendingWork[],
  maxEvents = 100,
): Promise<{ reported: string[] } & Pick<SelectedEvents, 'skipped'>> {
  await clock.advance(ms - clock.now())
  const { chosen, skipped } = select(pending, maxEvents)
  for (const each of chosen) table.record(each)
  return { reported: chosen.map(({ key }) => key), skipped }
}

describe('FailureSeriesTable', () => {
  it.each<[string, Partial<PendingWork>, number]>([
    ['is less than ten seconds old', {}, FIRST_EVENT_AFTER_MS - 1],
    ['has not failed', { message: undefined }, FIRST_EVENT_AFTER_MS],
    [
      'belongs to another kind of object',
      { object: { kind: 'PersistentVolume', namespace: '', name: 'a', uid: 'a' } },
      FIRST_EVENT_AFTER_MS,
    ],
    ['belongs to a deleted object', { object: undefined }, FIRST_EVENT_AFTER_MS],
    ['removes a finalizer from a volume', { operation: 'release' }, FIRST_EVENT_AFTER_MS],
  ])('there is no event for a pending operation that %s', async (_, change, ms) => {
    expect((await reportAt(ms, [work('a', change)])).reported).toEqual([])
  })

  it('a failing operation gets at most one event a minute', async () => {
    expect((await reportAt(FIRST_EVENT_AFTER_MS, [work('a')])).reported).toEqual(['a'])
    expect(
      (await reportAt(FIRST_EVENT_AFTER_MS + MIN_EVENT_INTERVAL_MS - 1, [work('a', { tries: 2 })])).reported,
    ).toEqual([])
    expect((await reportAt(FIRST_EVENT_AFTER_MS + MIN_EVENT_INTERVAL_MS, [work('a', { tries: 3 })])).reported).toEqual([
      'a',
    ])
  })

  it('an object gets its next event only after a new try or a new message', async () => {
    await reportAt(FIRST_EVENT_AFTER_MS, [work('a')])
    expect((await reportAt(FIRST_EVENT_AFTER_MS + MIN_EVENT_INTERVAL_MS, [work('a')])).reported).toEqual([])
    expect(
      (await reportAt(FIRST_EVENT_AFTER_MS + MIN_EVENT_INTERVAL_MS, [work('a', { message: 'other' })])).reported,
    ).toEqual(['a'])
  })

  it('the event of blocked work is renewed after 15 minutes, before it expires', async () => {
    await reportAt(FIRST_EVENT_AFTER_MS, [work('a')])
    expect((await reportAt(FIRST_EVENT_AFTER_MS + 15 * MIN_EVENT_INTERVAL_MS - 1, [work('a')])).reported).toEqual([])
    expect((await reportAt(FIRST_EVENT_AFTER_MS + 15 * MIN_EVENT_INTERVAL_MS, [work('a')])).reported).toEqual(['a'])
  })

  it('an object gets an event at once if its operation changes or the object is recreated', async () => {
    await reportAt(FIRST_EVENT_AFTER_MS, [work('a')])
    expect((await reportAt(FIRST_EVENT_AFTER_MS, [work('a', { operation: 'detach' })])).reported).toEqual(['a'])
    const object = { kind: 'VolumeAttachment', namespace: '', name: 'a', uid: 'other' }
    expect((await reportAt(FIRST_EVENT_AFTER_MS, [work('a', { object })])).reported).toEqual(['a'])
  })
})

describe('full table', () => {
  const three = (tries: number): PendingWork[] => ['a', 'b', 'c'].map((name) => work(name, { tries }))

  it('failing objects get events in turn, beginning with the object that has failed for the longest time', async () => {
    const pending = (tries: number) => [work('young', { since: 1, tries }), work('old', { tries })]
    expect((await reportAt(20_000, pending(1), 1)).reported).toEqual(['old'])
    expect((await reportAt(90_000, pending(2), 1)).reported).toEqual(['young'])
    expect((await reportAt(160_000, pending(3), 1)).reported).toEqual(['old'])
  })

  it('no object is left out, even if the turn takes longer than a message is remembered', async () => {
    const pending = (tries: number): PendingWork[] =>
      Array.from({ length: 20 }, (_, index) => work(`${index}`, { tries, since: index }))
    const reported: string[] = []
    for (let tries = 1; tries <= 20; tries += 1)
      reported.push(...(await reportAt(tries * 2 * MIN_EVENT_INTERVAL_MS, pending(tries), 1)).reported)
    expect(reported).toEqual(pending(1).map(({ key }) => key))
  })

  it('an object that appears twice in the list of pending operations gets one event', async () => {
    await clock.advance(FIRST_EVENT_AFTER_MS)
    expect(select([work('a'), work('b'), work('a')], 3).chosen.map(({ key }) => key)).toEqual(['a', 'b'])
  })

  it('a skipped event is counted for each minute in which a failing object gets no event', async () => {
    const skips: number[] = []
    for (const ms of [0, 5_000, 59_999, 60_000, 65_000, 119_999, 120_000])
      skips.push((await reportAt(FIRST_EVENT_AFTER_MS + ms, three(ms), ms === 0 ? 1 : 0)).skipped)
    expect(skips).toEqual([0, 0, 0, 2, 0, 0, 3])
  })
})

describe('recovery', () => {
  it('the chosen event of an object is dropped when the object recovers', async () => {
    await clock.advance(FIRST_EVENT_AFTER_MS)
    const { chosen } = select([work('a'), work('b')], 2)
    table.removeSeries(work('a'))
    expect(chosen.map((each) => [each.key, table.stillFails(each)])).toEqual([
      ['a', false],
      ['b', true],
    ])
  })

  it('the table of failures returns the events of a recovered object only once', async () => {
    await reportAt(FIRST_EVENT_AFTER_MS, [work('a')])
    expect(table.removeSeries(work('a'))).toMatchObject({ tries: 1 })
    expect(table.removeSeries(work('a'))).toBeUndefined()
  })

  it('an object that fails again after its recovery gets an event at once', async () => {
    await reportAt(FIRST_EVENT_AFTER_MS, [work('a')])
    table.removeSeries(work('a'))
    expect((await reportAt(FIRST_EVENT_AFTER_MS, [work('a')])).reported).toEqual(['a'])
  })

  it('the table of failures returns no events for a recovered object without a written event', async () => {
    await clock.advance(FIRST_EVENT_AFTER_MS)
    select([work('a')], 0)
    expect(table.removeSeries(work('a'))).toBeUndefined()
    await reportAt(FIRST_EVENT_AFTER_MS, [work('b')])
    await reportAt(FIRST_EVENT_AFTER_MS, [])
    expect([table.removeSeries(work('b')), table.size]).toEqual([undefined, 0])
  })
})
