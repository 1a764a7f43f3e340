import { TokenBucket } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { Delays } from './delays.ts'

function make(): { clock: FakeClock; delays: Delays; ended: string[] } {
  const clock = new FakeClock()
  const ended: string[] = []
  return { clock, ended, delays: new Delays({ clock, onDue: (key) => ended.push(`${key}@${clock.monotonic()}`) }) }
}

describe('delays', () => {
  test('a delayed key is reported at the end of its delay', async () => {
    const { clock, delays, ended } = make()
    delays.add('late', 300)
    delays.add('early', 100)
    await clock.advance(1000)
    expect(ended).toEqual(['early@100', 'late@300'])
    expect([delays.size, clock.pending]).toEqual([0, 0])
  })

  test.each([
    ['earlier', 100, ['a@100', 'b@200']],
    ['later', 900, ['b@200', 'a@300']],
  ])('a key with two delays is reported after the shorter one, if the second is %s', async (_, second, expected) => {
    const { clock, delays, ended } = make()
    delays.add('a', 300)
    delays.add('b', 200)
    delays.add('a', second)
    expect(delays.size).toBe(2)
    await clock.advance(1000)
    expect(ended).toEqual(expected)
  })

  test('many keys whose delay is over are reported only as fast as the rate limit allows', async () => {
    const clock = new FakeClock()
    const ended: string[] = []
    const pace = new TokenBucket({ clock, qps: 10, burst: 2 })
    const delays = new Delays({ clock, pace, onDue: (key) => ended.push(`${key}@${clock.monotonic()}`) })
    for (const [index, key] of ['a', 'b', 'c', 'd', 'e'].entries()) delays.add(key, 46 + index)
    await clock.advance(50)
    delays.remove('d')
    delays.add('f', 10)
    await clock.advance(10_000)
    expect(ended).toEqual(['a@46', 'b@47', 'c@146', 'e@246', 'f@346'])
    delays.add('g', 100)
    await clock.advance(100)
    expect([ended.at(-1), clock.pending]).toEqual(['g@10150', 0])
  })

  test('a removed key is not reported when its delay is over', async () => {
    const { clock, delays, ended } = make()
    for (const [key, ms] of [
      ['first', 100],
      ['middle', 200],
      ['last', 300],
    ] as const)
      delays.add(key, ms)
    delays.remove('first')
    delays.remove('unknown')
    expect([delays.dueInMs('first'), clock.nextIn]).toEqual([undefined, 200])
    delays.remove('last')
    await clock.advance(1000)
    expect(ended).toEqual(['middle@200'])
  })

  test('a key can be added again after it was reported or removed', async () => {
    const { clock, delays, ended } = make()
    delays.add('a', 100)
    await clock.advance(100)
    delays.add('a', 100)
    delays.remove('a')
    delays.add('a', 50)
    await clock.advance(100)
    expect(ended).toEqual(['a@100', 'a@150'])
  })

  test('`dueInMs` returns how long a key still has to wait', async () => {
    const { clock, delays } = make()
    delays.add('a', 300)
    await clock.advance(100)
    expect([delays.dueInMs('a'), delays.dueInMs('b')]).toEqual([200, undefined])
  })

  test('the callback that reports a key can add the key again', async () => {
    const clock = new FakeClock()
    const times: number[] = []
    const delays = new Delays({
      clock,
      onDue: (key) => {
        times.push(clock.monotonic())
        if (times.length < 3) delays.add(key, 100)
      },
    })
    delays.add('a', 100)
    await clock.advance(1000)
    expect(times).toEqual([100, 200, 300])
    expect(clock.pending).toBe(0)
  })

  test('thousands of delayed keys share one timer, which ends with the last key', async () => {
    const { clock, delays, ended } = make()
    for (let key = 0; key < 5000; key += 1) {
      delays.add(`${key}`, 10_000 - key)
      expect(clock.pending).toBe(1)
    }
    await clock.advance(7500)
    expect([ended.length, delays.size, clock.pending]).toEqual([2500, 2500, 1])
    delays.clear()
    expect([delays.size, delays.dueInMs('0'), clock.pending]).toEqual([0, undefined, 0])
    await clock.advance(10_000)
    expect(ended).toHaveLength(2500)
  })

  test('all due keys are reported at once after the process was frozen', async () => {
    const { clock, delays, ended } = make()
    delays.add('b', 200)
    delays.add('a', 100)
    await clock.freeze(60_000)
    expect(ended).toEqual(['a@60000', 'b@60000'])
  })

  test('in any order of calls, each delayed key is reported at the earliest of its due times', async () => {
    const step = fc.record({
      key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      ms: fc.integer({ min: 1, max: 100 }),
      remove: fc.boolean(),
      pause: fc.nat(30),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const { clock, delays, ended } = make()
        const planned = new Map<string, number>()
        const expected: string[] = []
        const pass = async (ms: number): Promise<void> => {
          await clock.advance(ms)
          const over = [...planned].filter(([, at]) => at <= clock.monotonic())
          for (const [key, at] of over) {
            planned.delete(key)
            expected.push(`${key}@${at}`)
          }
        }
        for (const { key, ms, remove, pause } of steps) {
          if (remove) {
            delays.remove(key)
            planned.delete(key)
          } else {
            delays.add(key, ms)
            planned.set(key, Math.min(planned.get(key) ?? Number.POSITIVE_INFINITY, clock.monotonic() + ms))
          }
          await pass(pause)
          expect([delays.size, clock.pending]).toEqual([planned.size, Math.min(planned.size, 1)])
        }
        await pass(1000)
        expect([...ended].sort()).toEqual([...expected].sort())
      }),
      { numRuns: 30 },
    )
  })
})
