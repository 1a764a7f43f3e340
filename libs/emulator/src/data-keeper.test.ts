import { FakeClock } from '@csi-sidecars/base'
import { recordingLogger } from '@csi-sidecars/telemetry'
import { expect, test } from '@jest/globals'
import { keepData } from './data-keeper.ts'

test('many changes are one save, and the end saves what is left', async () => {
  const clock = new FakeClock()
  let saves = 0
  const save = async (): Promise<void> => {
    saves += 1
  }
  const keeper = keepData({ clock, log: recordingLogger(), delayMs: 1000, save })
  keeper.touch()
  keeper.touch()
  await clock.advance(999)
  expect(saves).toBe(0)
  await clock.advance(1)
  expect(saves).toBe(1)
  keeper.touch()
  await keeper.close()
  expect(saves).toBe(2)
  await keeper.close()
  expect({ saves, timers: clock.pending }).toEqual({ saves: 2, timers: 0 })
})

test('a save that fails is logged, and the next one is tried', async () => {
  const clock = new FakeClock()
  const log = recordingLogger()
  let saves = 0
  const save = async (): Promise<void> => {
    saves += 1
    if (saves === 1) throw new Error('disk full')
  }
  const keeper = keepData({ clock, log, delayMs: 10, save })
  keeper.touch()
  await clock.advance(10)
  keeper.touch()
  await clock.advance(10)
  expect(saves).toBe(2)
  expect(log.lines).toMatchObject([{ message: 'Failed to save data', pairs: { reason: 'disk full' } }])
})
