import { FakeClock } from '@csi-sidecars/base/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { recordUndone, type UndoneWrite, undoneWaitMs } from './undone-write.ts'

const backoff = { baseMs: 1_000, maxMs: 4_000 }

let clock: FakeClock
let undone: UndoneWrite | undefined
beforeEach(() => {
  clock = new FakeClock()
  undone = undefined
})

/** Records that another writer has undone our write. Returns the pause before we repeat the write. */
function undo(): number {
  undone = recordUndone(undone, { backoff, clock })
  return undoneWaitMs(undone, clock)
}

describe('recordUndone', () => {
  it('a write that another writer undoes is repeated at once, and then after doubling pauses', async () => {
    const waits: number[] = []
    for (let left = 5; left > 0; left -= 1) {
      waits.push(undo())
      await clock.advance(undoneWaitMs(undone, clock))
      expect(undoneWaitMs(undone, clock)).toBe(0)
    }
    expect(waits).toEqual([0, 1_000, 2_000, 4_000, 4_000])
  })

  it('a write is repeated at once again if no writer has undone it for a long time', async () => {
    expect([undo(), undo()]).toEqual([0, 1_000])
    await clock.advance(5_000)
    expect(undo()).toBe(2_000)
    await clock.advance(6_001)
    expect(undo()).toBe(0)
  })
})

describe('undoneWaitMs', () => {
  it('a write that no other writer has undone needs no pause', () => {
    expect(undoneWaitMs(undefined, clock)).toBe(0)
  })
})
