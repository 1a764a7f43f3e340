import { aborted, CancelledError } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { ApiError } from '@csi-sidecars/kube-client'
import { expect, it } from '@jest/globals'
import { type AwaitedCache, runAwaited } from './awaited.ts'

/** An informer that is refused until it is allowed to read, and notices only when it begins. */
function scene() {
  const clock = new FakeClock({ random: () => 0 })
  const life = new AbortController()
  const seen = { runs: 0, reads: 0 }
  const server = { allows: false, error: new ApiError({ code: 403, reason: 'Forbidden', message: 'no' }) }
  const claims = { awaited: true, onAwaited: (): void => undefined }
  const filled = Promise.withResolvers<void>()
  const state = { synced: false }
  const fill = (): void => {
    state.synced = true
    filled.resolve()
  }
  const store = {
    get synced() {
      return state.synced
    },
    whenSynced: () => filled.promise,
  } as AwaitedCache['informer']['store']
  const cache: AwaitedCache = {
    informer: {
      store,
      run: async (signal) => {
        seen.runs += 1
        if (server.allows) fill()
        await aborted(signal)
      },
    },
    isAwaited: () => claims.awaited,
    onAwaited: (listener) => {
      claims.onAwaited = listener
      return () => {
        claims.onAwaited = () => undefined
      }
    },
    tryToRead: async () => {
      seen.reads += 1
      if (!server.allows) throw server.error
    },
    clock,
  }
  const done = runAwaited(cache, life.signal)
  /** One more claim waits for an object of the cache. */
  const begin = (): void => {
    claims.awaited = true
    claims.onAwaited()
  }
  const end = async (): Promise<void> => {
    life.abort(new CancelledError('the end'))
    await done
    expect(clock.pending).toBe(0)
  }
  return { clock, seen, server, claims, store, fill, begin, end }
}

it('a cache that may be read is left alone', async () => {
  const { clock, seen, server, fill, end } = scene()
  fill()
  server.allows = true
  await clock.advance(60_000)
  expect(seen).toEqual({ runs: 1, reads: 0 })
  await end()
})

it('a cache that is refused is asked for after pauses that double up to half a minute', async () => {
  const { clock, seen, end } = scene()
  const at: number[] = []
  for (let second = 0; second < 240; second += 0.5) {
    const { reads } = seen
    await clock.advance(500)
    if (seen.reads > reads) at.push(second + 0.5)
  }
  expect(at).toEqual([0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 61.5, 91.5, 121.5, 151.5, 181.5, 211.5])
  await end()
})

it('begins again at half a second when another claim begins to wait, however many follow', async () => {
  const { clock, seen, begin, end } = scene()
  await clock.advance(40_000)
  expect(seen.reads).toBe(6)
  for (let each = 0; each < 5; each += 1) {
    begin()
    await clock.advance(100)
  }
  expect(seen.reads).toBe(7)
  await clock.advance(1_000)
  expect(seen.reads).toBe(8)
  await end()
})

it('a cache that may be read only now is filled with the next try', async () => {
  const { clock, seen, server, store, begin, end } = scene()
  await clock.advance(60_000)
  expect(seen.runs).toBe(1)
  server.allows = true
  begin()
  await clock.advance(500)
  expect(seen.runs).toBe(2)
  expect(store.synced).toBe(true)
  const { reads } = seen
  await clock.advance(60_000)
  expect(seen).toEqual({ runs: 2, reads })
  await end()
})

it('a cache that no claim waits for is not asked for', async () => {
  const { clock, seen, server, claims, begin, end } = scene()
  claims.awaited = false
  await clock.advance(60_000)
  expect(seen.reads).toBe(0)
  begin()
  await clock.advance(500)
  expect(seen.reads).toBe(1)
  server.allows = true
  await clock.advance(1_000)
  expect(seen.runs).toBe(2)
  await end()
})

it('a first list that takes its time is not begun again', async () => {
  const { clock, seen, server, end } = scene()
  await clock.advance(0)
  server.allows = true
  await clock.advance(60_000)
  expect(seen.runs).toBe(1)
  await end()
})

it('a server that is away has refused nothing', async () => {
  const { clock, seen, server, end } = scene()
  server.error = new ApiError({ code: 0, reason: '', message: 'away' })
  await clock.advance(1_000)
  server.allows = true
  await clock.advance(60_000)
  expect(seen.runs).toBe(1)
  await end()
})
