import { FakeClock } from '@csi-sidecars/base'
import { ApiError, type KubeClient, type RereadListener, type WatchOptions } from '@csi-sidecars/kube-client'
import type { Resource } from '@csi-sidecars/kube-types'
import { type RecordingLogger, recordingLogger } from '@csi-sidecars/telemetry'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { Cached } from './cached.ts'
import { createInformer, type Informer, type InformerOptions } from './informer.ts'
import { FaultyServer, type Thing } from './testing/faulty-server.ts'

const THINGS: Resource<Thing> = {
  group: 'example.com',
  version: 'v1',
  plural: 'things',
  kind: 'Thing',
  namespaced: false,
  subresources: [],
}

let clock: FakeClock
let server: FaultyServer
let log: RecordingLogger
let informer: Informer<Cached, Thing>
let heard: string[]
let stop: AbortController
let done: Promise<void> | undefined

beforeEach(() => {
  clock = new FakeClock({ random: () => 0.5 })
  server = new FaultyServer({ clock, random: () => 0.5, streams: true })
  server.faulty = false
  log = recordingLogger()
  heard = []
  stop = new AbortController()
  done = undefined
  create()
})
afterEach(async () => {
  stop.abort(new Error('the test is over'))
  await clock.settle()
  await done
  expect(clock.pending).toBe(0)
})

const project = ({ metadata: { name, uid, resourceVersion } }: Thing): Cached => ({ key: name, uid, resourceVersion })

function create(options: Partial<InformerOptions<Thing, Cached>> = {}): void {
  const { client } = server
  informer = createInformer({ client, resource: THINGS, project, resyncMs: 0, clock, log, ...options })
  informer.subscribe((event) =>
    heard.push(event.type === 'updated' ? `${event.cause} ${event.after.key}` : `${event.type} ${event.object.key}`),
  )
}
async function start(): Promise<void> {
  done = informer.run(stop.signal)
  await clock.advance(0)
}
const keys = (): string[] => [...informer.store.values()].map(({ key }) => key)

describe('a first list that fails', () => {
  /** A client that refuses everything, and when it was asked. */
  const refusing = (error: ApiError, asked: number[]): KubeClient => {
    const refuse = (): never => {
      asked.push(clock.monotonic())
      throw error
    }
    const iterable = () => ({ [Symbol.asyncIterator]: () => ({ next: async () => refuse() }) })
    return { list: iterable, watch: iterable } as unknown as KubeClient
  }

  test.each([
    [403, 0],
    [503, 900_000],
    [0, 900_000],
  ])('by %d is silence of %d ms after a quarter of an hour', async (code, silentMs) => {
    create({ client: refusing(new ApiError({ code, reason: '', message: 'no' }), []) })
    await start()
    await clock.advance(900_000)
    const silentForMs = clock.monotonic() - informer.lastActivity
    expect(silentForMs).toBeGreaterThanOrEqual(silentMs)
    expect(silentForMs).toBeLessThanOrEqual(silentMs + 30_000)
  })

  test.each([
    { code: 500, gaps: [1200, 2400, 4800, 9600, 19_200, 38_400, 45_000, 45_000] },
    { code: 0, gaps: [1200, 2400, 4800, 5000, 5000, 5000, 5000, 5000] },
  ])('with $code is tried again for ever, ever more slowly: $gaps', async ({ code, gaps }) => {
    const asked: number[] = []
    create({ client: refusing(new ApiError({ code, reason: '', message: 'no' }), asked) })
    await start()
    await clock.advance(300_000)
    const seen = asked.slice(1).map((at, index) => at - (asked[index] ?? 0))
    expect(seen.slice(0, gaps.length)).toEqual(gaps)
    expect(informer.store.synced).toBe(false)
  })

  test('is tried no sooner than the server asked for', async () => {
    const asked: number[] = []
    const throttled = { code: 429, reason: 'TooManyRequests', message: 'slow down', retryAfterMs: 7000 }
    create({ client: refusing(new ApiError(throttled), asked) })
    await start()
    await clock.advance(14_000)
    expect(asked).toEqual([0, 7000, 14_000])
  })

  test('because it is forbidden says so', async () => {
    const message = 'things.example.com is forbidden'
    create({ client: refusing(new ApiError({ code: 403, reason: 'Forbidden', message }), []) })
    await start()
    const errors = log.lines.filter(({ level }) => level === 'error')
    expect(errors).toMatchObject([{ message: 'Failed to list', pairs: { resource: 'things' }, error: { message } }])
  })
})

test('trouble after two quiet minutes begins with short waits again', async () => {
  await start()
  const asked: number[] = []
  const watch = server.client.watch.bind(server.client)
  Object.assign(server.client, {
    watch: (...args: Parameters<typeof watch>) => {
      asked.push(clock.monotonic())
      return watch(...args)
    },
  })
  server.restart(20_000)
  await clock.advance(60_000)
  const first = asked.length
  await clock.advance(120_000)
  server.restart(1000)
  await clock.advance(1300)
  expect(first).toBeGreaterThan(3)
  expect(asked.slice(first)).toEqual([180_000, 181_200])
})

describe('objects that are not as they should be', () => {
  test('are named once and left out; the others are there, and nothing stops', async () => {
    create({
      project: (thing) => {
        if (thing.metadata.name === 'bad') throw new Error('there is no source')
        return project(thing)
      },
    })
    for (const name of ['a', 'bad', 'b']) server.put(name)
    await start()
    server.put('bad')
    server.delete('bad')
    server.put('c')
    await clock.advance(0)
    expect(keys()).toEqual(['a', 'b', 'c'])
    expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([
      { message: 'Ignoring an object that cannot be understood', pairs: { resource: 'things', object: 'bad' } },
    ])
  })

  test('even without a name or any metadata stop nothing', async () => {
    server.put('a')
    await start()
    const odd = [{}, { metadata: {} }, { metadata: { name: 7 } }] as unknown as Thing[]
    for (const object of odd) server.tell({ type: 'MODIFIED', object })
    server.put('b')
    await clock.advance(0)
    expect(keys()).toEqual(['a', 'b'])
  })
})

test('what a projection does not want is not kept, and goes when it is not wanted any more', async () => {
  const foreign = new Set(['b'])
  create({ project: (thing) => (foreign.has(thing.metadata.name) ? undefined : project(thing)) })
  server.put('a')
  server.put('b')
  await start()
  expect(keys()).toEqual(['a'])
  foreign.add('a').delete('b')
  server.put('a')
  server.put('b')
  await clock.advance(0)
  expect(keys()).toEqual(['b'])
  foreign.delete('a')
  server.put('a')
  await clock.advance(0)
  expect(heard).toEqual(['added a', 'deleted a', 'added b', 'added a'])
})

test('a projection can share the texts that many objects repeat', async () => {
  const texts: string[] = []
  create({
    project: (thing, intern) => {
      texts.push(intern(`a driver's name of ${['some', 'length'].join(' ')}`))
      return project(thing)
    },
  })
  server.put('a')
  server.put('b')
  await start()
  expect(texts).toEqual(["a driver's name of some length", "a driver's name of some length"])
})

describe('an own result', () => {
  test('is in the store at once, and its event later is no news', async () => {
    server.put('a')
    await start()
    const result = server.put('a')
    expect(informer.learn(result)).toEqual(project(result))
    expect(informer.store.get('a')).toEqual(project(result))
    await clock.advance(0)
    expect(heard).toEqual(['added a', 'own a'])
  })

  test('that is older than what is known changes nothing, and the newer state is returned', async () => {
    const old = server.put('a')
    const fresh = server.put('a')
    await start()
    expect(informer.learn(old)).toEqual(project(fresh))
    expect(heard).toEqual(['added a'])
  })

  test('that took off the last finalizer of a deleted object is its end, though its version is the old one', async () => {
    const { metadata, ...rest } = server.put('a')
    await start()
    const result = { ...rest, metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [] } }
    expect(informer.learn(result)).toBeUndefined()
    expect(keys()).toEqual([])
    server.delete('a')
    await clock.advance(0)
    expect(heard).toEqual(['added a', 'deleted a'])
  })

  test('of an object that is gone does not bring it back', async () => {
    const result = server.put('a')
    await start()
    server.delete('a')
    await clock.advance(0)
    expect(informer.learn(result)).toBeUndefined()
    expect(keys()).toEqual([])
  })
})

describe('resync', () => {
  test('tells of every object anew, as often as wanted, not before there is a first list', async () => {
    create({ resyncMs: 60_000 })
    server.restart(70_000)
    server.put('a')
    server.put('b')
    await start()
    await clock.advance(130_000)
    heard.length = 0
    await clock.advance(60_000)
    expect(heard).toEqual(['resync a', 'resync b'])
  })

  test('can be asked for', async () => {
    server.put('a')
    await start()
    informer.resync()
    expect(heard).toEqual(['added a', 'resync a'])
  })
})

test('a handler that throws is reported with the object, and hears of the next one', async () => {
  informer.subscribe(({ type }) => {
    if (type === 'added') throw new Error('no')
  })
  server.put('a')
  server.put('b')
  await start()
  const errors = log.lines.filter(({ level }) => level === 'error')
  expect(errors).toMatchObject(
    ['a', 'b'].map((object) => ({
      message: 'Informer handler failed',
      pairs: { resource: 'things', object, event: 'added' },
    })),
  )
  expect(heard).toEqual(['added a', 'added b'])
})

test('the last sign of life of the server is known', async () => {
  await start()
  await clock.advance(5000)
  server.put('a')
  await clock.advance(1000)
  expect(informer.lastActivity).toBe(5000)
})

test('a list whose end is not marked is fetched in pages instead', async () => {
  const { list } = server.client
  const next = (_: unknown, { signal }: { signal: AbortSignal }) => clock.sleep(3_600_000, signal)
  const watch = (...args: [unknown, { signal: AbortSignal }]) => ({
    [Symbol.asyncIterator]: () => ({ next: () => next(...args) }),
  })
  create({ client: { list, watch } as unknown as KubeClient })
  server.put('a')
  await start()
  await clock.advance(9999)
  expect(informer.store.synced).toBe(false)
  await clock.advance(1)
  expect(keys()).toEqual(['a'])
})

test('a list whose end is never marked is fetched in pages after a minute, whatever comes meanwhile', async () => {
  const { list } = server.client
  const object = server.put('a')
  const watch = (_: unknown, { signal, onActivity }: WatchOptions) => ({
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        await clock.sleep(9000, signal)
        onActivity?.()
        return { value: { type: 'ADDED', object }, done: false }
      },
    }),
  })
  create({ client: { list, watch } as unknown as KubeClient })
  await start()
  await clock.advance(59_999)
  expect(informer.store.synced).toBe(false)
  await clock.advance(1)
  expect(keys()).toEqual(['a'])
})

test('no server stops the cache for longer than half a minute, whatever it asks for', async () => {
  const asked: number[] = []
  const retryAfterMs = 3_600_000
  const error = new ApiError({ code: 429, reason: 'TooManyRequests', message: 'slow down', retryAfterMs })
  const watch = () => ({
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        asked.push(clock.monotonic())
        return { value: { type: 'END', why: 'error', error }, done: false }
      },
    }),
  })
  create({ client: { watch } as unknown as KubeClient })
  await start()
  await clock.advance(90_000)
  expect(asked).toEqual([0, 30_000, 60_000, 90_000])
})

describe('an object that was read again after a write without an answer', () => {
  let tell: RereadListener<Thing>
  let listeners: number
  beforeEach(() => {
    listeners = 0
    const onReread = (_: unknown, listener: RereadListener<Thing>) => {
      tell = listener
      listeners += 1
      return () => {
        listeners -= 1
      }
    }
    Object.assign(server.client, { onReread })
    create()
  })
  const tellOf = (object: Thing): boolean => tell({ name: object.metadata.name }, object)

  test('is news as from the watch where the write was carried out, and none where it was not', async () => {
    const before = server.put('a')
    await start()
    server.mute = true
    expect(tellOf(before)).toBe(false)
    const after = server.put('a')
    expect(tellOf(after)).toBe(true)
    expect(informer.store.get('a')).toEqual(project(after))
    await clock.advance(0)
    expect(heard).toEqual(['added a', 'watch a'])
    // The event that comes later says nothing new.
    server.mute = false
    server.put('b')
    await clock.advance(0)
    expect(heard).toEqual(['added a', 'watch a', 'added b'])
  })

  test('and is not there leaves the cache', async () => {
    server.put('a')
    await start()
    server.mute = true
    server.delete('a')
    expect(tell({ name: 'a' }, undefined)).toBe(true)
    expect(tell({ name: 'a' }, undefined)).toBe(false)
    expect(keys()).toEqual([])
  })

  test('is listened for while the cache runs', async () => {
    await start()
    expect(listeners).toBe(1)
    stop.abort(new Error('enough'))
    await done
    expect(listeners).toBe(0)
  })

  test('is of no interest to a cache of a part', async () => {
    create({ fieldSelector: 'metadata.name=x' })
    await start()
    expect(listeners).toBe(0)
  })
})

test('one that was stopped can be started again, and tells what happened in between', async () => {
  server.put('a')
  server.put('b')
  await start()
  stop.abort(new Error('enough'))
  await clock.settle()
  await done
  server.delete('a')
  server.put('b')
  stop = new AbortController()
  await start()
  expect(heard).toEqual(['added a', 'added b', 'deleted a', 'watch b'])
})

describe('catching up with a server whose watches have fallen silent', () => {
  let asked: string[]
  beforeEach(async () => {
    asked = []
    const { list, watch } = server.client
    Object.assign(server.client, {
      list: (...args: Parameters<typeof list>) => asked.push('list') && list(...args),
      watch: (...args: Parameters<typeof watch>) => asked.push('watch') && watch(...args),
    })
    server.put('a')
    await start()
    server.mute = true
    server.put('b')
    await clock.advance(100)
  })

  test('lists anew, and goes on from there', async () => {
    const caughtUp = informer.caughtUp(clock.monotonic(), stop.signal)
    await clock.advance(0)
    await caughtUp
    expect({ asked, keys: keys(), heard }).toEqual({
      asked: ['watch', 'watch'],
      keys: ['a', 'b'],
      heard: ['added a', 'added b'],
    })
    server.mute = false
    server.put('c')
    await clock.advance(0)
    expect(keys()).toEqual(['a', 'b', 'c'])
  })

  test('lists nothing where the last list began late enough', async () => {
    await informer.caughtUp(0, stop.signal)
    expect(asked).toEqual(['watch'])
  })

  test('lists once for all who wait', async () => {
    const now = clock.monotonic()
    const all = [now, now - 1, now].map((since) => informer.caughtUp(since, stop.signal))
    await clock.advance(0)
    await Promise.all(all)
    expect(asked).toEqual(['watch', 'watch'])
  })

  test('does not wait for the next try of a watch that was refused', async () => {
    server.restart(100)
    await clock.advance(200)
    const caughtUp = informer.caughtUp(clock.monotonic(), stop.signal)
    await clock.advance(0)
    await caughtUp
    expect(keys()).toEqual(['a', 'b'])
  })

  test('ends with its signal', async () => {
    server.restart(100)
    await clock.advance(0)
    const waiting = expect(informer.caughtUp(clock.monotonic(), stop.signal)).rejects.toThrow('the test is over')
    stop.abort(new Error('the test is over'))
    await waiting
    await clock.advance(100)
  })
})

test('catching up before the first list waits for it', async () => {
  const caughtUp = informer.caughtUp(Number.NEGATIVE_INFINITY, stop.signal)
  server.put('a')
  await start()
  await caughtUp
  expect(keys()).toEqual(['a'])
})
