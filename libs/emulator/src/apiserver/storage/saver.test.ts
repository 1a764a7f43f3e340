import { FakeClock } from '@csi-sidecars/base'
import { recordingLogger } from '@csi-sidecars/telemetry'
import { expect, test } from '@jest/globals'
import { saveChanges } from './saver.ts'

test('many changes are one save, and the end saves what is left', async () => {
  const clock = new FakeClock()
  let saves = 0
  const save = async (): Promise<void> => {
    saves += 1
  }
  const saver = saveChanges({ clock, log: recordingLogger(), delayMs: 1000, save })
  saver.changed()
  saver.changed()
  await clock.advance(999)
  expect(saves).toBe(0)
  await clock.advance(1)
  expect(saves).toBe(1)
  saver.changed()
  await saver.close()
  expect(saves).toBe(2)
  await saver.close()
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
  const saver = saveChanges({ clock, log, delayMs: 10, save })
  saver.changed()
  await clock.advance(10)
  saver.changed()
  await clock.advance(10)
  expect(saves).toBe(2)
  expect(log.lines).toMatchObject([{ message: 'Failed to save data', pairs: { reason: 'disk full' } }])
})
