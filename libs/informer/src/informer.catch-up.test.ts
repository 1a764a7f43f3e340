import { ApiError, type KubeClient, type RereadListener, type WatchOptions } from '@csi-sidecars/kube-client'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { Thing } from './testing/faulty-server.ts'
import { project, ThingCache } from './testing/thing-cache.ts'

let cache: ThingCache

beforeEach(() => {
  cache = new ThingCache()
})
afterEach(async () => {
  await cache.end()
  expect(cache.clock.pending).toBe(0)
})

test('a silent streaming list without a final bookmark is replaced by a list in pages', async () => {
  const { list } = cache.server.client
  const next = (_: unknown, { signal }: { signal: AbortSignal }) => cache.clock.sleep(3_600_000, signal)
  const watch = (...args: [unknown, { signal: AbortSignal }]) => ({
    [Symbol.asyncIterator]: () => ({ next: () => next(...args) }),
  })
  cache.create({ client: { list, watch } as unknown as KubeClient })
  cache.server.upsert('a')
  await cache.start()
  await cache.clock.advance(9999)
  expect(cache.informer.store.synced).toBe(false)
  await cache.clock.advance(1)
  expect(cache.keys).toEqual(['a'])
})

test('a streaming list that delivers objects without end is replaced by pages after a minute', async () => {
  const { list } = cache.server.client
  const object = cache.server.upsert('a')
  const watch = (_: unknown, { signal, onActivity }: WatchOptions) => ({
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        await cache.clock.sleep(9000, signal)
        onActivity?.()
        return { value: { type: 'ADDED', object }, done: false }
      },
    }),
  })
  cache.create({ client: { list, watch } as unknown as KubeClient })
  await cache.start()
  await cache.clock.advance(59_999)
  expect(cache.informer.store.synced).toBe(false)
  await cache.clock.advance(3)
  expect(cache.keys).toEqual(['a'])
})

test('a streaming list of many objects may take longer than a minute', async () => {
  const { list } = cache.server.client
  const object = cache.server.upsert('a')
  const watch = async function* (_: unknown, { signal, onActivity, onChange }: WatchOptions) {
    for (let second = 0; second < 80; second += 1) {
      await cache.clock.sleep(1000, signal)
      onActivity?.()
      for (let count = 0; count < 2000; count += 1) onChange?.({ type: 'ADDED', object })
    }
    yield { type: 'BOOKMARK', resourceVersion: '9', initialEventsEnd: true }
    await cache.clock.sleep(3_600_000, signal)
  }
  const asked: unknown[] = []
  const counted = (...args: Parameters<typeof list>) => {
    asked.push(args)
    return list(...args)
  }
  cache.create({ client: { list: counted, watch } as unknown as KubeClient })
  await cache.start()
  await cache.clock.advance(79_999)
  expect(cache.informer.store.synced).toBe(false)
  await cache.clock.advance(1)
  expect(cache.keys).toEqual(['a'])
  expect(asked).toEqual([])
})

test('a Retry-After of an hour pauses the informer for at most half a minute', async () => {
  const asked: number[] = []
  const retryAfterMs = 3_600_000
  const error = new ApiError({ code: 429, reason: 'TooManyRequests', message: 'slow down', retryAfterMs })
  const watch = () => ({
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        asked.push(cache.clock.monotonic())
        return { value: { type: 'END', why: 'error', error }, done: false }
      },
    }),
  })
  cache.create({ client: { watch } as unknown as KubeClient })
  await cache.start()
  await cache.clock.advance(90_000)
  expect(asked).toEqual([0, 30_000, 60_000, 90_000])
})

describe('rereads', () => {
  let listener: RereadListener<Thing>
  let listeners: number
  beforeEach(() => {
    listeners = 0
    const onReread = (_: unknown, registered: RereadListener<Thing>) => {
      listener = registered
      listeners += 1
      return () => {
        listeners -= 1
      }
    }
    Object.assign(cache.server.client, { onReread })
    cache.create()
  })
  const sendReread = (object: Thing): boolean => listener({ name: object.metadata.name }, object)

  test('an object that is read again after an unanswered write causes an event only if it has changed', async () => {
    const before = cache.server.upsert('a')
    await cache.start()
    cache.server.mute = true
    expect(sendReread(before)).toBe(false)
    const after = cache.server.upsert('a')
    expect(sendReread(after)).toBe(true)
    expect(cache.informer.store.get('a')).toEqual(project(after))
    await cache.clock.advance(0)
    expect(cache.heard).toEqual(['added a', 'change a'])
    // The read has already updated `a` in the cache, so the watch event of the same write causes no event.
    cache.server.mute = false
    cache.server.upsert('b')
    await cache.clock.advance(0)
    expect(cache.heard).toEqual(['added a', 'change a', 'added b'])
  })

  test('a new read after an unanswered write removes a deleted object from the cache', async () => {
    cache.server.upsert('a')
    await cache.start()
    cache.server.mute = true
    cache.server.delete('a')
    expect(listener({ name: 'a' }, undefined)).toBe(true)
    expect(listener({ name: 'a' }, undefined)).toBe(false)
    expect(cache.keys).toEqual([])
  })

  test('an informer stops listening to the client when it is stopped', async () => {
    await cache.start()
    expect(listeners).toBe(1)
    await cache.end()
    expect(listeners).toBe(0)
  })

  test('an informer with a field selector ignores objects that the client reads again', async () => {
    cache.create({ fieldSelector: 'metadata.name=x' })
    await cache.start()
    expect(listeners).toBe(0)
  })
})

test('a stopped informer can be started again, and reports the changes that it has missed', async () => {
  cache.server.upsert('a')
  cache.server.upsert('b')
  await cache.start()
  await cache.end()
  cache.server.delete('a')
  cache.server.upsert('b')
  cache.stop = new AbortController()
  await cache.start()
  expect(cache.heard).toEqual(['added a', 'added b', 'deleted a', 'change b'])
})

describe('ensureListedSince', () => {
  let asked: string[]
  beforeEach(async () => {
    asked = []
    const { list, watch } = cache.server.client
    Object.assign(cache.server.client, {
      list: (...args: Parameters<typeof list>) => asked.push('list') && list(...args),
      watch: (...args: Parameters<typeof watch>) => asked.push('watch') && watch(...args),
    })
    cache.server.upsert('a')
    await cache.start()
    cache.server.mute = true
    cache.server.upsert('b')
    await cache.clock.advance(100)
  })

  test('`ensureListedSince` lists again, and the watch continues from that list', async () => {
    const caughtUp = cache.informer.ensureListedSince(cache.clock.monotonic(), cache.stop.signal)
    await cache.clock.advance(0)
    await caughtUp
    expect({ asked, keys: cache.keys, heard: cache.heard }).toEqual({
      asked: ['watch', 'watch'],
      keys: ['a', 'b'],
      heard: ['added a', 'added b'],
    })
    cache.server.mute = false
    cache.server.upsert('c')
    await cache.clock.advance(0)
    expect(cache.keys).toEqual(['a', 'b', 'c'])
  })

  test('`ensureListedSince` does not list again if the last list began after the given moment', async () => {
    await cache.informer.ensureListedSince(0, cache.stop.signal)
    expect(asked).toEqual(['watch'])
  })

  test('`ensureListedSince` lists once for all waiting callers', async () => {
    const now = cache.clock.monotonic()
    const all = [now, now - 1, now].map((since) => cache.informer.ensureListedSince(since, cache.stop.signal))
    await cache.clock.advance(0)
    await Promise.all(all)
    expect(asked).toEqual(['watch', 'watch'])
  })

  test('`ensureListedSince` cuts the pause after a refused watch short', async () => {
    cache.server.restart(100)
    await cache.clock.advance(200)
    const caughtUp = cache.informer.ensureListedSince(cache.clock.monotonic(), cache.stop.signal)
    await cache.clock.advance(0)
    await caughtUp
    expect(cache.keys).toEqual(['a', 'b'])
  })

  test('`ensureListedSince` rejects when its signal is aborted', async () => {
    cache.server.restart(100)
    await cache.clock.advance(0)
    const waiting = expect(
      cache.informer.ensureListedSince(cache.clock.monotonic(), cache.stop.signal),
    ).rejects.toThrow('the test is over')
    cache.stop.abort(new Error('the test is over'))
    await waiting
    await cache.clock.advance(100)
  })
})

test('`ensureListedSince` waits for the first list of the informer', async () => {
  const caughtUp = cache.informer.ensureListedSince(Number.NEGATIVE_INFINITY, cache.stop.signal)
  cache.server.upsert('a')
  await cache.start()
  await caughtUp
  expect(cache.keys).toEqual(['a'])
})
