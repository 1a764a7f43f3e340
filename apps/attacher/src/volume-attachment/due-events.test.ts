import type { PendingWork } from '@csi-sidecars/controller'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { type DueEvents, PERIOD_MS, QUIET_MS, SeriesTable } from './due-events.ts'

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

let table: SeriesTable
beforeEach(() => {
  table = new SeriesTable()
})

function look(pending: readonly PendingWork[], now: number, most: number): DueEvents {
  const looking = table.look(now, most)
  for (const each of pending) looking.see(each)
  return looking.end()
}

/** Tells whatever is due, as the reporter does. */
function tell(
  pending: readonly PendingWork[],
  now: number,
  most = 100,
): { told: string[] } & Pick<DueEvents, 'skipped'> {
  const { chosen, skipped } = look(pending, now, most)
  for (const { work: told, series } of chosen) {
    Object.assign(series, { due: now + PERIOD_MS, reportedAt: now, tries: told.tries, message: told.message })
  }
  return { told: chosen.map(({ work: { key } }) => key), skipped }
}

describe('an object is told about', () => {
  it.each<[string, Partial<PendingWork>, number]>([
    ['within ten seconds', {}, QUIET_MS - 1],
    ['before it has failed', { message: undefined }, QUIET_MS],
    ['that is no attachment', { object: { kind: 'PersistentVolume', namespace: '', name: 'a', uid: 'a' } }, QUIET_MS],
    ['that is gone', { object: undefined }, QUIET_MS],
    ['that is released', { operation: 'release' }, QUIET_MS],
  ])('not %s', (_, change, now) => {
    expect(tell([work('a', change)], now).told).toEqual([])
  })

  it('once a minute, as long as it goes on failing', () => {
    expect(tell([work('a')], QUIET_MS).told).toEqual(['a'])
    expect(tell([work('a', { tries: 2 })], QUIET_MS + PERIOD_MS - 1).told).toEqual([])
    expect(tell([work('a', { tries: 3 })], QUIET_MS + PERIOD_MS).told).toEqual(['a'])
  })

  it('not again where nothing new has happened to it', () => {
    tell([work('a')], QUIET_MS)
    expect(tell([work('a')], QUIET_MS + PERIOD_MS).told).toEqual([])
    expect(tell([work('a', { message: 'other' })], QUIET_MS + PERIOD_MS).told).toEqual(['a'])
  })

  it('anew when it is detached, and when another bears its name', () => {
    tell([work('a')], QUIET_MS)
    expect(tell([work('a', { operation: 'detach' })], QUIET_MS).told).toEqual(['a'])
    const object = { kind: 'VolumeAttachment', namespace: '', name: 'a', uid: 'other' }
    expect(tell([work('a', { object })], QUIET_MS).told).toEqual(['a'])
  })
})

describe('more than may be told', () => {
  const three = (tries: number): PendingWork[] => ['a', 'b', 'c'].map((name) => work(name, { tries }))

  it('take turns, the oldest first', () => {
    expect(tell([work('young', { since: 1 }), work('old')], 20_000, 1).told).toEqual(['old'])
    expect(tell([work('young', { since: 1, tries: 2 }), work('old', { tries: 2 })], 90_000, 1).told).toEqual(['young'])
  })

  it('count once where one is seen twice in a look', () => {
    expect(look([work('a'), work('b'), work('a')], QUIET_MS, 3).chosen.map((event) => event.work.key)).toEqual([
      'a',
      'b',
    ])
  })

  it('count as skipped once for each minute in which they were not told', () => {
    const skips = [0, 5_000, 59_999, 60_000, 65_000, 119_999, 120_000].map(
      (ms) => tell(three(ms), QUIET_MS + ms, ms === 0 ? 1 : 0).skipped,
    )
    expect(skips).toEqual([0, 0, 0, 2, 0, 0, 3])
  })
})

describe('an object that is well again', () => {
  it('is no longer held by what was chosen before', () => {
    const { chosen } = look([work('a'), work('b')], QUIET_MS, 2)
    table.take(work('a'))
    expect(chosen.map((event) => [event.work.key, table.holds(event)])).toEqual([
      ['a', false],
      ['b', true],
    ])
  })

  it('gives its series away, once', () => {
    tell([work('a')], QUIET_MS)
    expect(table.take(work('a'))).toMatchObject({ tries: 1 })
    expect(table.take(work('a'))).toBeUndefined()
  })

  it('has none where nothing was told, and where it is pending no more', () => {
    look([work('a')], QUIET_MS, 0)
    expect(table.take(work('a'))).toBeUndefined()
    tell([work('b')], QUIET_MS)
    tell([], QUIET_MS)
    expect([table.take(work('b')), table.size]).toEqual([undefined, 0])
  })
})
