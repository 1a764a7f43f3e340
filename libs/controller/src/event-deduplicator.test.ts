import { FakeClock } from '@csi-sidecars/base/testing'
import { describe, expect, it } from '@jest/globals'
import { EventDeduplicator } from './event-deduplicator.ts'

const MINUTE_MS = 60_000

describe('EventDeduplicator', () => {
  it('a message about an object is recorded once, and again after another message', () => {
    const events = new EventDeduplicator({ clock: new FakeClock() })
    expect(['x', 'x', 'y', 'x'].map((message) => events.shouldRecord('a', message))).toEqual([true, false, true, true])
    expect(events.shouldRecord('b', 'x')).toBe(true)
  })

  it('a message that lasts is recorded again after 15 minutes, counted from its last record', async () => {
    const clock = new FakeClock()
    const events = new EventDeduplicator({ clock })
    expect(events.shouldRecord('a', 'x')).toBe(true)
    await clock.advance(14 * MINUTE_MS)
    expect(events.shouldRecord('a', 'x')).toBe(false)
    await clock.advance(MINUTE_MS)
    expect(events.shouldRecord('a', 'x')).toBe(true)
    await clock.advance(14 * MINUTE_MS)
    expect(events.shouldRecord('a', 'x')).toBe(false)
  })

  it('the messages of objects that no caller forgets are dropped after 15 minutes', async () => {
    const clock = new FakeClock()
    const events = new EventDeduplicator({ clock })
    events.shouldRecord('a', 'x')
    await clock.advance(10 * MINUTE_MS)
    events.shouldRecord('b', 'x')
    await clock.advance(5 * MINUTE_MS)
    events.shouldRecord('c', 'x')
    expect(events.size).toBe(2)
  })

  it('a flood of objects forgets the oldest messages first', () => {
    const events = new EventDeduplicator({ clock: new FakeClock(), maxObjects: 2 })
    for (const key of ['a', 'b', 'c']) events.shouldRecord(key, 'x')
    expect(events.size).toBe(2)
    expect(['c', 'b', 'a'].map((key) => events.shouldRecord(key, 'x'))).toEqual([false, false, true])
  })

  it('two events about one object keep the shortest interval, even if their messages differ', async () => {
    const clock = new FakeClock()
    const events = new EventDeduplicator({ clock, minIntervalMs: MINUTE_MS })
    expect(events.shouldRecord('a', 'x')).toBe(true)
    await clock.advance(MINUTE_MS - 1)
    expect(events.shouldRecord('a', 'y')).toBe(false)
    expect(events.shouldRecord('b', 'y')).toBe(true)
    await clock.advance(1)
    expect(events.shouldRecord('a', 'y')).toBe(true)
  })

  it('an event that is due and not recorded stays due', async () => {
    const events = new EventDeduplicator({ clock: new FakeClock() })
    expect([events.isDue('a', 'x'), events.isDue('a', 'x'), events.size]).toEqual([true, true, 0])
    events.record('a', 'x')
    expect([events.isDue('a', 'x'), events.isDue('a', 'y'), events.isDue('b', 'x')]).toEqual([false, true, true])
  })

  it('a recreated object gets the message of the deleted object, because its UID differs', () => {
    const events = new EventDeduplicator({ clock: new FakeClock() })
    expect([events.shouldRecord('uid-1', 'x'), events.shouldRecord('uid-2', 'x')]).toEqual([true, true])
  })

  it('a forgotten object may get the same message again', () => {
    const events = new EventDeduplicator({ clock: new FakeClock() })
    events.shouldRecord('a', 'x')
    events.forget('a')
    expect(events.shouldRecord('a', 'x')).toBe(true)
  })
})
