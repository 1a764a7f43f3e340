import { aborted, CancelledError, FakeClock } from '@csi-sidecars/base'
import { ApiError } from '@csi-sidecars/kube-client'
import { expect, it } from '@jest/globals'
import { type AwaitedCache, runAwaited } from './awaited.ts'

/** An informer that is refused until it is allowed to read, and notices only when it begins. */
function scene() {
  const clock = new FakeClock()
  const life = new AbortController()
  const seen = { runs: 0, reads: 0 }
  const server = { allows: false, error: new ApiError({ code: 403, reason: 'Forbidden', message: 'no' }) }
  const wishes = { awaited: true }
  const store = { synced: false } as AwaitedCache['informer']['store'] & { synced: boolean }
  const cache: AwaitedCache = {
    informer: {
      store,
      run: async (signal) => {
        seen.runs += 1
        if (server.allows) store.synced = true
        await aborted(signal)
      },
    },
    isAwaited: () => wishes.awaited,
    tryToRead: async () => {
      seen.reads += 1
      if (!server.allows) throw server.error
    },
    clock,
  }
  const done = runAwaited(cache, life.signal)
  const end = async (): Promise<void> => {
    life.abort(new CancelledError('the end'))
    await done
    expect(clock.pending).toBe(0)
  }
  return { clock, seen, server, wishes, store, end }
}

it('a cache that may be read is left alone', async () => {
  const { clock, seen, server, store, end } = scene()
  store.synced = true
  server.allows = true
  await clock.advance(10_000)
  expect(seen).toEqual({ runs: 1, reads: 0 })
  await end()
})

it('a cache that may be read only now begins anew within a second', async () => {
  const { clock, seen, server, store, end } = scene()
  await clock.advance(60_000)
  expect(seen.runs).toBe(1)
  server.allows = true
  await clock.advance(1_000)
  expect(seen.runs).toBe(2)
  expect(store.synced).toBe(true)
  const { reads } = seen
  await clock.advance(60_000)
  expect(seen).toEqual({ runs: 2, reads })
  await end()
})

it('nobody asks for a cache that nobody waits for', async () => {
  const { clock, seen, server, wishes, end } = scene()
  wishes.awaited = false
  await clock.advance(60_000)
  expect(seen.reads).toBe(0)
  wishes.awaited = true
  await clock.advance(1_000)
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
