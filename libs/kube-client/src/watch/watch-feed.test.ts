import { FakeClock } from '@csi-sidecars/base/testing'
import { expect, test } from '@jest/globals'
import { WatchFeed } from './watch-feed.ts'

test('a watch reports activity of its stream at once, and then at most ten times a second', async () => {
  const clock = new FakeClock()
  let reports = 0
  const onActivity = (): void => {
    reports += 1
  }
  const feed = new WatchFeed({ clock, onActivity })
  const chunks = (count: number): void => {
    for (let chunk = 0; chunk < count; chunk += 1) feed.data(Buffer.from('\n'))
  }
  chunks(50)
  expect(reports).toBe(1)
  await clock.advance(99)
  chunks(50)
  expect(reports).toBe(1)
  await clock.advance(1)
  chunks(50)
  expect(reports).toBe(2)
  feed.dispose()
})
