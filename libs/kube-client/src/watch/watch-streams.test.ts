import { FakeClock } from '@csi-sidecars/base/testing'
import type { HttpConnection } from '@csi-sidecars/http1'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { WatchFeed } from './watch-feed.ts'
import { WatchStreams } from './watch-streams.ts'

/** One stream that the watch has opened. */
interface TestStream {
  readonly feed: WatchFeed
  readonly after: string | undefined
  readonly at: number
  destroyed: boolean
}

let clock: FakeClock
let opened: TestStream[]
let resumed: number[]
let refuse: Error | undefined
let streams: WatchStreams
beforeEach(() => {
  clock = new FakeClock()
  opened = []
  resumed = []
  refuse = undefined
})
afterEach(() => {
  streams.close()
  expect(opened.every(({ destroyed }) => destroyed)).toBe(true)
  expect(clock.pending).toBe(0)
})

async function open({ resumeVersion }: { resumeVersion: string | undefined } = { resumeVersion: '7' }): Promise<void> {
  streams = new WatchStreams({
    clock,
    resumeVersion,
    silenceMs: 400_000,
    signal: undefined,
    onActivity: undefined,
    open: async (feed, _, after) => {
      const stream: TestStream = { feed, after, at: clock.monotonic(), destroyed: false }
      opened.push(stream)
      if (refuse !== undefined) {
        stream.destroyed = true
        throw refuse
      }
      const destroy = (): void => {
        stream.destroyed = true
      }
      return { destroy, pause: () => undefined, resume: () => undefined } as unknown as HttpConnection
    },
    onResumed: (silentMs) => resumed.push(silentMs),
  })
  await streams.open()
}
const brings = (stream: TestStream | undefined, line = 'x'): void => stream?.feed.data(Buffer.from(`${line}\n`))
const openedAt = (): number[] => opened.map(({ at }) => at)

test('a watch with a silent stream opens a second stream after 45 s, and switches to it 2 s later', async () => {
  await open()
  streams.advanceTo('9')
  await clock.advance(44_999)
  expect(opened).toHaveLength(1)
  await clock.advance(1)
  expect(opened[1]).toMatchObject({ after: '9', at: 45_000 })
  brings(opened[1])
  const woken = streams.feed.whenChanged()
  await clock.advance(2000)
  await woken
  expect(streams.feed.nextFrame()).toBe('x')
  expect([opened[0]?.destroyed, opened[1]?.destroyed, resumed]).toEqual([true, false, [47_000]])
})

test('the watch closes its second stream if the first stream receives data again', async () => {
  await open()
  await clock.advance(45_000)
  brings(opened[1], 'the same')
  await clock.advance(1000)
  brings(opened[0], 'the same')
  await clock.advance(1000)
  expect([opened[0]?.destroyed, opened[1]?.destroyed, resumed]).toEqual([false, true, []])
  expect([streams.feed.nextFrame(), streams.feed.nextFrame()]).toEqual(['the same', undefined])
})

test('the new stream of a watch replaces the old stream if both are silent for 30 s', async () => {
  await open()
  await clock.advance(75_000)
  expect([opened[0]?.destroyed, opened[1]?.destroyed, resumed]).toEqual([true, false, [75_000]])
})

describe('a second stream that fails', () => {
  beforeEach(async () => {
    await open()
    refuse = new Error('too many requests')
    await clock.advance(45_000)
  })

  test('a silent watch ends after 75 s if the client cannot open a second stream', async () => {
    await clock.advance(29_999)
    expect(streams.feed.endFrame).toBeUndefined()
    await clock.advance(1)
    expect(streams.feed.endFrame).toEqual({ type: 'END', why: 'silent' })
  })

  test('a silent watch continues if its first stream receives bytes again', async () => {
    await clock.advance(15_000)
    brings(opened[0])
    await clock.advance(15_000)
    expect(streams.feed.endFrame).toBeUndefined()
  })
})

describe('the second stream', () => {
  /** Lets minutes pass in which the current stream receives a line each `everyMs`. */
  const bringing = async (everyMs: number, minutes: number): Promise<void> => {
    for (let at = everyMs; at <= minutes * 60_000; at += everyMs) {
      await clock.advance(everyMs)
      brings(opened.findLast(({ feed }) => feed === streams.feed))
    }
  }

  test.each([
    ['only bookmarks', 60_000, 10],
    ['a line each 46 s', 46_000, 11],
    ['a line each 44 s', 44_000, 0],
    ['nothing at all', 600_000, 10],
  ])('the client opens a second stream once a minute at most for a watch with %s', async (_, everyMs, most) => {
    await open()
    await bringing(everyMs, 10)
    expect(opened.length - 1).toBeLessThanOrEqual(most)
    expect(resumed).toHaveLength(everyMs === 600_000 ? opened.length - 1 : 0)
  })

  test('a watch opens another stream each time its stream falls silent', async () => {
    await open()
    await clock.advance(45_000)
    brings(opened[1])
    await clock.advance(2000)
    await clock.advance(43_000)
    expect(openedAt()).toEqual([0, 45_000, 90_000])
  })
})

test('a silent watch without a resource version ends after 400 s, and opens no second stream', async () => {
  await open({ resumeVersion: undefined })
  await clock.advance(399_999)
  expect([opened.length, streams.feed.endFrame]).toEqual([1, undefined])
  await clock.advance(1)
  expect(streams.feed.endFrame).toEqual({ type: 'END', why: 'silent' })
})

test('a watch can open a second stream as soon as it knows a resource version', async () => {
  await open({ resumeVersion: undefined })
  await clock.advance(100_000)
  brings(opened[0])
  streams.advanceTo('3')
  await clock.advance(45_000)
  expect(opened[1]).toMatchObject({ after: '3' })
})

test('the end of a watch also ends its second stream', async () => {
  await open()
  await clock.advance(45_000)
  streams.close()
  expect(opened.map(({ destroyed }) => destroyed)).toEqual([true, true])
})
