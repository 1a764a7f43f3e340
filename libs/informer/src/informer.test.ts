import { ApiError, type KubeClient, type WatchOptions } from '@csi-sidecars/kube-client'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { Interner } from './projector.ts'
import type { Cached, InformerEvent } from './reader.ts'
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

describe('first list', () => {
  /** Returns a client that refuses every request, and adds the time of each request to `asked`. */
  const refusing = (error: ApiError, asked: number[]): KubeClient => {
    const refuse = (): never => {
      asked.push(cache.clock.monotonic())
      throw error
    }
    const iterable = () => ({ [Symbol.asyncIterator]: () => ({ next: async () => refuse() }) })
    return { list: iterable, watch: iterable } as unknown as KubeClient
  }

  test.each([
    [403, 0],
    [503, 900_000],
    [0, 900_000],
  ])('if the server refuses for 15 minutes with code %d, the last activity was %d ms ago', async (code, silentMs) => {
    cache.create({ client: refusing(new ApiError({ code, reason: '', message: 'no' }), []) })
    await cache.start()
    await cache.clock.advance(900_000)
    const silentForMs = cache.clock.monotonic() - cache.informer.lastActivity
    expect(silentForMs).toBeGreaterThanOrEqual(silentMs)
    expect(silentForMs).toBeLessThanOrEqual(silentMs + 30_000)
  })

  test.each([
    { code: 500, gaps: [1200, 2400, 4800, 9600, 19_200, 38_400, 45_000, 45_000] },
    { code: 0, gaps: [1200, 2400, 4800, 5000, 5000, 5000, 5000, 5000] },
  ])('the informer retries a list refused with $code without limit, with the pauses $gaps', async ({ code, gaps }) => {
    const asked: number[] = []
    cache.create({ client: refusing(new ApiError({ code, reason: '', message: 'no' }), asked) })
    await cache.start()
    await cache.clock.advance(300_000)
    const seen = asked.slice(1).map((at, index) => at - (asked[index] ?? 0))
    expect(seen.slice(0, gaps.length)).toEqual(gaps)
    expect(cache.informer.store.synced).toBe(false)
  })

  test('the informer retries a refused list after the Retry-After of the response', async () => {
    const asked: number[] = []
    const throttled = { code: 429, reason: 'TooManyRequests', message: 'slow down', retryAfterMs: 7000 }
    cache.create({ client: refusing(new ApiError(throttled), asked) })
    await cache.start()
    await cache.clock.advance(14_000)
    expect(asked).toEqual([0, 7000, 14_000])
  })

  test('the informer logs nothing if its list is forbidden, because the client logs that', async () => {
    const message = 'things.example.com is forbidden'
    cache.create({ client: refusing(new ApiError({ code: 403, reason: 'Forbidden', message }), []) })
    await cache.start()
    expect(cache.log.lines).toEqual([])
  })

  test('all requests of an informer with `optional` are optional', async () => {
    const optional: unknown[] = []
    const failing = (_: unknown, options: WatchOptions) => ({
      [Symbol.asyncIterator]: () => ({
        next: () => {
          optional.push(options.optional)
          return Promise.reject(new ApiError({ code: 403, reason: 'Forbidden', message: 'no' }))
        },
      }),
    })
    cache.create({ client: { watch: failing, list: failing } as unknown as KubeClient, optional: true })
    await cache.start()
    expect(optional).toEqual([true, true])
  })

  test('the informer passes each error before a pause to `onFailure`, and then logs no failed list', async () => {
    const invalid = new ApiError({ code: 422, reason: 'Invalid', message: 'no streams' })
    const away = new ApiError({ code: 500, reason: 'InternalError', message: 'etcd is away' })
    const failing = (error: ApiError) => () => ({
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }),
    })
    const failures: unknown[] = []
    cache.create({
      client: { watch: failing(invalid), list: failing(away) } as unknown as KubeClient,
      onFailure: (error) => void failures.push(error),
    })
    await cache.start()
    await cache.clock.advance(1200)
    // The informer answers a refused streaming list with pages at once, so that refusal is no failure.
    expect(failures).toEqual([away, away])
    expect(cache.log.lines.map(({ level }) => level)).toEqual([2])
  })
})

test('after two minutes without a failure, the informer starts with the shortest back-off again', async () => {
  await cache.start()
  const asked: number[] = []
  const watch = cache.server.client.watch.bind(cache.server.client)
  Object.assign(cache.server.client, {
    watch: (...args: Parameters<typeof watch>) => {
      asked.push(cache.clock.monotonic())
      return watch(...args)
    },
  })
  cache.server.restart(20_000)
  await cache.clock.advance(60_000)
  const first = asked.length
  await cache.clock.advance(120_000)
  cache.server.restart(1000)
  await cache.clock.advance(1300)
  expect(first).toBeGreaterThan(3)
  expect(asked.slice(first)).toEqual([180_000, 181_200])
})

describe('the last state of a deleted object', () => {
  let deleted: InformerEvent<Cached>[]

  beforeEach(async () => {
    deleted = []
    cache.informer.subscribe((event) => {
      if (event.type === 'deleted') deleted.push(event)
    })
    cache.server.upsert('a')
    await cache.start()
  })

  const versionIn = (): string => cache.informer.store.get('a')?.resourceVersion ?? ''

  test('the event of a deletion contains the last state if the watch has reported it', async () => {
    const version = versionIn()
    cache.server.delete('a')
    await cache.clock.advance(0)
    expect(deleted).toMatchObject([{ object: { resourceVersion: version }, last: { key: 'a' } }])
  })

  test('the event of a deletion has no last state if a list has not contained the object', async () => {
    cache.server.restart(0)
    cache.server.delete('a')
    cache.server.compact()
    await cache.clock.advance(60_000)
    expect(deleted).toHaveLength(1)
    expect(deleted[0]).not.toHaveProperty('last')
  })
})

describe('invalid objects', () => {
  test('the informer logs invalid objects once and leaves them out, and keeps all other objects', async () => {
    cache.create({
      project: (thing) => {
        if (thing.metadata.name === 'bad') throw new Error('there is no source')
        return project(thing)
      },
    })
    for (const name of ['a', 'bad', 'b']) cache.server.upsert(name)
    await cache.start()
    cache.server.upsert('bad')
    cache.server.delete('bad')
    cache.server.upsert('c')
    await cache.clock.advance(0)
    expect(cache.keys).toEqual(['a', 'b', 'c'])
    expect(cache.log.lines.filter(({ level }) => level === 'error')).toMatchObject([
      { message: 'Ignoring an object that cannot be understood', pairs: { resource: 'things', object: 'bad' } },
    ])
  })

  test('the informer skips objects without a name or without any metadata, and continues', async () => {
    cache.server.upsert('a')
    await cache.start()
    const odd = [{}, { metadata: {} }, { metadata: { name: 7 } }] as unknown as Thing[]
    for (const object of odd) cache.server.send({ type: 'MODIFIED', object })
    cache.server.upsert('b')
    await cache.clock.advance(0)
    expect(cache.keys).toEqual(['a', 'b'])
  })
})

test('the cache contains an object only while the projection accepts it', async () => {
  const foreign = new Set(['b'])
  cache.create({ project: (thing) => (foreign.has(thing.metadata.name) ? undefined : project(thing)) })
  cache.server.upsert('a')
  cache.server.upsert('b')
  await cache.start()
  expect(cache.keys).toEqual(['a'])
  foreign.add('a').delete('b')
  cache.server.upsert('a')
  cache.server.upsert('b')
  await cache.clock.advance(0)
  expect(cache.keys).toEqual(['b'])
  foreign.delete('a')
  cache.server.upsert('a')
  await cache.clock.advance(0)
  expect(cache.heard).toEqual(['added a', 'deleted a', 'added b', 'added a'])
})

test('the informer passes the same interner to all calls of a projection', async () => {
  const interners = new Set<Interner>()
  cache.create({
    project: (thing, intern) => {
      interners.add(intern)
      return project(thing)
    },
  })
  cache.server.upsert('a')
  cache.server.upsert('b')
  await cache.start()
  cache.server.upsert('c')
  await cache.clock.advance(0)
  expect(interners.size).toBe(1)
  expect(cache.keys).toEqual(['a', 'b', 'c'])
})

describe('own writes', () => {
  test('`storeAnswer` stores the answer to our own write at once, and the later watch event changes nothing', async () => {
    cache.server.upsert('a')
    await cache.start()
    const result = cache.server.upsert('a')
    expect(cache.informer.storeAnswer(result)).toEqual(project(result))
    expect(cache.informer.store.get('a')).toEqual(project(result))
    await cache.clock.advance(0)
    expect(cache.heard).toEqual(['added a', 'change a'])
  })

  test('`storeAnswer` ignores an answer that is older than the stored object, and returns the stored object', async () => {
    const old = cache.server.upsert('a')
    const fresh = cache.server.upsert('a')
    await cache.start()
    expect(cache.informer.storeAnswer(old)).toEqual(project(fresh))
    expect(cache.heard).toEqual(['added a'])
  })

  test('`storeAnswer` deletes an object from the store when our write removes its last finalizer', async () => {
    const { metadata, ...rest } = cache.server.upsert('a')
    await cache.start()
    const result = { ...rest, metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [] } }
    expect(cache.informer.storeAnswer(result)).toBeUndefined()
    expect(cache.keys).toEqual([])
    cache.server.delete('a')
    await cache.clock.advance(0)
    expect(cache.heard).toEqual(['added a', 'deleted a'])
  })

  test('`storeAnswer` ignores a late answer to our own write for a deleted object', async () => {
    const result = cache.server.upsert('a')
    await cache.start()
    cache.server.delete('a')
    await cache.clock.advance(0)
    expect(cache.informer.storeAnswer(result)).toBeUndefined()
    expect(cache.keys).toEqual([])
  })
})

describe('resync', () => {
  test('the informer reports every object as updated at each resync interval, but not before the first list', async () => {
    cache.create({ resyncMs: 60_000 })
    cache.server.restart(70_000)
    cache.server.upsert('a')
    cache.server.upsert('b')
    await cache.start()
    await cache.clock.advance(130_000)
    cache.heard.length = 0
    await cache.clock.advance(60_000)
    expect(cache.heard).toEqual(['resync a', 'resync b'])
  })

  test('`resync` of the informer reports every object as updated', async () => {
    cache.server.upsert('a')
    await cache.start()
    cache.informer.resync()
    expect(cache.heard).toEqual(['added a', 'resync a'])
  })
})

test('an error of an event handler is logged with the object, and the handler gets the next event', async () => {
  cache.informer.subscribe(({ type }) => {
    if (type === 'added') throw new Error('no')
  })
  cache.server.upsert('a')
  cache.server.upsert('b')
  await cache.start()
  const errors = cache.log.lines.filter(({ level }) => level === 'error')
  expect(errors).toMatchObject(
    ['a', 'b'].map((object) => ({
      message: 'Informer handler failed',
      pairs: { resource: 'things', object, event: 'added' },
    })),
  )
  expect(cache.heard).toEqual(['added a', 'added b'])
})

test('`lastActivity` of the informer is the time of the last answer of the server', async () => {
  await cache.start()
  await cache.clock.advance(5000)
  cache.server.upsert('a')
  await cache.clock.advance(1000)
  expect(cache.informer.lastActivity).toBe(5000)
})
