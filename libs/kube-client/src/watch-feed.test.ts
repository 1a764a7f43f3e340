import { FakeClock } from '@csi-sidecars/base'
import { expect, test } from '@jest/globals'
import { WatchFeed } from './watch-feed.ts'

test('activity is told of at once, and then ten times a second', async () => {
  const clock = new FakeClock()
  let told = 0
  const onActivity = (): void => {
    told += 1
  }
  const feed = new WatchFeed({ clock, silenceMs: 60_000, onActivity })
  const chunks = (count: number): void => {
    for (let chunk = 0; chunk < count; chunk += 1) feed.data(Buffer.from('\n'))
  }
  chunks(50)
  expect(told).toBe(1)
  await clock.advance(99)
  chunks(50)
  expect(told).toBe(1)
  await clock.advance(1)
  chunks(50)
  expect(told).toBe(2)
  feed.dispose()
})
