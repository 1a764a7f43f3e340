import { FakeClock } from '@csi-sidecars/base/testing'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type CacheProgress, releaseMemory } from './memory.ts'
import { Metrics } from './metrics.ts'

const NAME = 'nodejs_memory_giveback_seconds_total'
let clock: FakeClock
let metrics: Metrics
let used: { busyMs: number; cpuMs: number }
let collections: number[]
let growth: number[]
let caches: CacheProgress
let stop: () => void

beforeEach(() => {
  clock = new FakeClock()
  metrics = new Metrics()
  used = { busyMs: 300, cpuMs: 400 }
  collections = []
  growth = []
  caches = 'waiting'
  const engine = {
    collect: () => void collections.push(clock.monotonic() - began),
    collectAfterGrowth: (percent: number) => void growth.push(percent),
  }
  const began = clock.monotonic()
  const meter = { busyMs: () => used.busyMs, cpuMs: () => used.cpuMs }
  stop = releaseMemory({ clock, metrics, caches: () => caches, engine, meter }).stop
})
afterEach(() => stop())

/** Works for this many milliseconds of processor time in the next seconds. */
async function spend(ms: number, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    used = { busyMs: used.busyMs + ms / seconds, cpuMs: used.cpuMs + ms / seconds }
    await clock.advance(1_000)
  }
}

test('memory is released once, a second after the start', async () => {
  await clock.advance(60_000)
  expect(collections).toEqual([1_000])
})

test('a start that takes longer is waited for', async () => {
  await spend(3_000, 9)
  await clock.advance(60_000)
  expect(collections).toEqual([16_000])
})

test('the heap does not grow freely before objects arrive', async () => {
  await spend(3_000, 9)
  expect(growth).toEqual([60])
  await clock.advance(60_000)
  await spend(5_000, 20)
  expect(growth).toEqual([60, 20])
})

test('the heap grows freely while objects arrive, until the caches are filled', async () => {
  await clock.advance(500)
  caches = 'filling'
  await spend(3_000, 9)
  expect(growth).toEqual([60, 300])
  caches = 'filled'
  await spend(3_000, 3)
  expect(growth).toEqual([60, 300, 20])
  caches = 'filling'
  await spend(9_000, 30)
  expect(growth).toEqual([60, 300, 20])
})

test('the heap grows freely until the first rest where the caches are never filled', async () => {
  caches = 'filling'
  await spend(3_000, 3)
  caches = 'waiting'
  await clock.advance(60_000)
  expect(growth).toEqual([60, 300, 20])
})

test('it is released again after a burst of work', async () => {
  await clock.advance(60_000)
  await spend(5_000, 20)
  expect(collections).toEqual([1_000])
  await clock.advance(60_000)
  expect(collections).toEqual([1_000, 86_000])
})

test('a little work causes no collection', async () => {
  await clock.advance(60_000)
  await spend(900, 5)
  await clock.advance(60_000)
  expect(collections).toEqual([1_000])
})

test('continuous work is never blocked', async () => {
  await spend(60_000, 600)
  expect(collections).toEqual([])
})

test('nothing is done after the stop', async () => {
  stop()
  await clock.advance(60_000)
  expect(collections).toEqual([])
  expect(clock.pending).toBe(0)
})

test('the real collection frees unused memory, and code keeps working', async () => {
  let held: WeakRef<object> | undefined = new WeakRef({})
  const meter = { busyMs: () => 0, cpuMs: () => 0 }
  const real = releaseMemory({ clock, metrics: new Metrics(), caches: () => 'filled', meter })
  await clock.advance(1_000)
  await clock.settle()
  expect(held.deref()).toBeUndefined()
  held = undefined
  real.stop()
})

test('the pauses are a metric', async () => {
  expect(await metrics.text()).toContain(`# TYPE ${NAME} counter\n${NAME} 0\n`)
})
