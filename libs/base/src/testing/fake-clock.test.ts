import { describe, expect, jest, test } from '@jest/globals'
import { FakeClock } from './fake-clock.ts'

describe('FakeClock', () => {
  test('the fake clock does not advance by itself', async () => {
    const clock = new FakeClock({ now: 5000 })
    await clock.settle()
    expect([clock.now(), clock.monotonic()]).toEqual([5000, 0])
  })

  test('the fake clock fires timers in the order of their times, and equal times in the order of scheduling', async () => {
    const clock = new FakeClock({ now: 0 })
    const fired: string[] = []
    for (const [name, ms] of [
      ['c', 30],
      ['a', 10],
      ['b', 20],
      ['b2', 20],
      ['late', 41],
    ] as const) {
      clock.schedule(ms, () => fired.push(`${name}@${clock.now()}`))
    }
    await clock.advance(40)
    expect(fired).toEqual(['a@10', 'b@20', 'b2@20', 'c@30'])
    expect([clock.now(), clock.monotonic(), clock.pending, clock.nextIn]).toEqual([40, 40, 1, 1])
  })

  test('the fake clock settles promises between two timers, so that a promise can schedule the next timer', async () => {
    const clock = new FakeClock()
    const times: number[] = []
    const steps = async (): Promise<void> => {
      for (let step = 0; step < 3; step += 1) {
        await clock.sleep(10)
        times.push(clock.monotonic())
      }
    }
    const done = steps()
    await clock.advance(100)
    await done
    expect(times).toEqual([10, 20, 30])
  })

  test('the fake clock lets pending promises schedule their timers before it advances', async () => {
    const clock = new FakeClock()
    const fire = jest.fn()
    const start = async (): Promise<void> => {
      await Promise.resolve()
      clock.schedule(5, fire)
    }
    const started = start()
    await clock.advance(5)
    await started
    expect(fire).toHaveBeenCalledTimes(1)
  })

  test('the fake clock does not fire a cancelled timer, and ignores a second cancellation', async () => {
    const clock = new FakeClock()
    const fire = jest.fn()
    const cancel = clock.schedule(10, fire)
    cancel()
    cancel()
    await clock.advance(20)
    expect(fire).not.toHaveBeenCalled()
    expect([clock.pending, clock.nextIn]).toEqual([0, undefined])
  })

  test('after a freeze the fake clock fires all due timers at once', async () => {
    const clock = new FakeClock()
    const times: number[] = []
    clock.schedule(10, () => times.push(clock.monotonic()))
    clock.schedule(20, () => times.push(clock.monotonic()))
    clock.schedule(200, () => times.push(clock.monotonic()))
    await clock.freeze(100)
    expect(times).toEqual([100, 100])
  })

  test('a change of the wall time of the fake clock does not change its monotonic time', async () => {
    const clock = new FakeClock({ now: 1000 })
    await clock.advance(50)
    clock.setWall(9000)
    expect([clock.now(), clock.monotonic()]).toEqual([9000, 50])
    await clock.advance(1)
    expect(clock.now()).toBe(9001)
  })

  test('the fake clock returns the given random numbers, or 0.5', () => {
    const numbers = [0.1, 0.9]
    const clock = new FakeClock({ random: () => numbers.shift() ?? 0 })
    expect([clock.random(), clock.random()]).toEqual([0.1, 0.9])
    expect(new FakeClock().random()).toBe(0.5)
  })

  test('`advance` of the fake clock rejects with the error that a timer throws', async () => {
    const clock = new FakeClock()
    clock.schedule(1, () => {
      throw new Error('from a timer')
    })
    await expect(clock.advance(1)).rejects.toThrow('from a timer')
  })
})
