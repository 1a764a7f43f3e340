import { FakeClock } from '@csi-sidecars/base/testing'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { expect, test } from '@jest/globals'
import { Saver } from './saver.ts'

/** A store that counts its writes, and a disk that is slow, or full. */
function setUp(delayMs = 1000) {
  const clock = new FakeClock()
  const log = recordingLogger()
  const disk = { saved: 0, saves: 0, full: false, ms: 10 }
  const store = { revision: 0 }
  const saver = new Saver(
    {
      clock,
      log,
      delayMs,
      revision: () => store.revision,
      save: async () => {
        disk.saves += 1
        const { revision } = store
        await clock.sleep(disk.ms)
        if (disk.full) throw new Error('disk full')
        disk.saved = revision
      },
    },
    0,
  )
  const write = (): void => {
    store.revision += 1
    saver.changed()
  }
  /** `waiting`, then the revision that was saved when the wait was over, or why it was not. */
  const outcome = (): { is: unknown } => {
    const outcome: { is: unknown } = { is: 'waiting' }
    saver.saved().then(
      () => {
        outcome.is = disk.saved
      },
      (error: Error) => {
        outcome.is = error.message
      },
    )
    return outcome
  }
  return { clock, log, disk, saver, write, outcome }
}

test('a wait ends when the write is saved, and many waits are one save', async () => {
  const { clock, disk, write, outcome } = setUp()
  write()
  const first = outcome()
  await clock.advance(5)
  // These arrive during a save that began before them.
  write()
  const second = outcome()
  write()
  const third = outcome()
  expect([first.is, second.is, third.is]).toEqual(['waiting', 'waiting', 'waiting'])
  await clock.advance(5)
  expect([first.is, second.is, third.is]).toEqual([1, 'waiting', 'waiting'])
  await clock.advance(10)
  expect([first.is, second.is, third.is]).toEqual([1, 3, 3])
  expect(disk.saves).toBe(2)
  await clock.advance(10_000)
  expect(disk.saves).toBe(2)
})

test('a change without a waiting request is saved after a delay, and at the end', async () => {
  const { clock, disk, saver, write } = setUp()
  write()
  write()
  await clock.advance(999)
  expect(disk.saves).toBe(0)
  await clock.advance(11)
  expect(disk).toMatchObject({ saves: 1, saved: 2 })
  write()
  const closed = saver.close()
  await clock.advance(10)
  await closed
  expect({ ...disk, timers: clock.pending }).toMatchObject({ saves: 2, saved: 3, timers: 0 })
})

test('a failed save is retried with a delay, reported to the waiting callers, and logged once', async () => {
  const { clock, log, disk, write, outcome } = setUp()
  disk.full = true
  write()
  const first = outcome()
  await clock.advance(10)
  expect(first.is).toBe('disk full')
  for (let count = 0; count < 100; count += 1) write()
  const others = Array.from({ length: 100 }, outcome)
  await clock.advance(10)
  expect(new Set(others.map(({ is }) => is))).toEqual(new Set(['disk full']))
  expect(disk.saves).toBe(1)
  await clock.advance(10_000)
  expect(disk.saves).toBeGreaterThan(5)
  expect(disk.saves).toBeLessThanOrEqual(11)
  disk.full = false
  await clock.advance(2_000)
  expect(disk.saved).toBe(101)
  expect(log.lines.map(({ message }) => message)).toEqual(['Failed to save data', 'Data is saved again'])
})

test('the end waits for one more attempt, and reports its failure', async () => {
  const { clock, disk, saver, write, outcome } = setUp()
  disk.full = true
  write()
  outcome()
  await clock.advance(10)
  const closed = expect(saver.close()).rejects.toThrow('disk full')
  await clock.advance(10)
  await closed
  expect({ saves: disk.saves, timers: clock.pending }).toEqual({ saves: 2, timers: 0 })
})
