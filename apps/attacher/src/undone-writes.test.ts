import { FakeClock } from '@csi-sidecars/base/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { UndoneWrites } from './undone-writes.ts'

const va = { key: 'va1', uid: 'u' }

let clock: FakeClock
let writes: UndoneWrites
beforeEach(() => {
  clock = new FakeClock()
  writes = new UndoneWrites({ baseMs: 1_000, maxMs: 4_000, clock })
})

describe('a write that another writer undoes', () => {
  it('is repeated at once the first time, then after a pause that doubles up to the longest', async () => {
    const waits: number[] = []
    for (let left = 5; left > 0; left -= 1) {
      writes.note(va)
      waits.push(writes.waitMs(va))
      await clock.advance(writes.waitMs(va))
      expect(writes.waitMs(va)).toBe(0)
    }
    expect(waits).toEqual([0, 1_000, 2_000, 4_000, 4_000])
  })

  it('is repeated at once again when it was left alone for the longest pause', async () => {
    writes.note(va)
    writes.note(va)
    await clock.advance(5_001)
    writes.note(va)
    expect(writes.waitMs(va)).toBe(0)
  })

  it('is known of this very object until that is gone', () => {
    writes.note(va)
    writes.note(va)
    const recreated = { ...va, uid: 'later' }
    expect([writes.has(va), writes.has(recreated), writes.waitMs(recreated)]).toEqual([true, false, 0])
    writes.note(recreated)
    expect([writes.has(va), writes.waitMs(recreated)]).toEqual([false, 0])
    writes.forget('va1')
    expect(writes.has(recreated)).toBe(false)
  })
})
