import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { systemClock } from './clock.ts'
import { FakeClock } from './testing/fake-clock.ts'

const DAY_MS = 24 * 60 * 60 * 1000

describe('systemClock', () => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => {
    jest.restoreAllMocks()
    jest.useRealTimers()
  })

  test('the system clock calls back once, when the time is over', () => {
    const fire = jest.fn()
    systemClock.schedule(100, fire)
    jest.advanceTimersByTime(99)
    expect(fire).not.toHaveBeenCalled()
    jest.advanceTimersByTime(1000)
    expect(fire).toHaveBeenCalledTimes(1)
  })

  test('the system clock calls back only after `schedule` has returned, even if the wait is negative', () => {
    const fire = jest.fn()
    systemClock.schedule(-5, fire)
    expect(fire).not.toHaveBeenCalled()
    jest.advanceTimersByTime(1)
    expect(fire).toHaveBeenCalledTimes(1)
  })

  test('the system clock supports waits that are longer than `setTimeout` allows', () => {
    const fire = jest.fn()
    systemClock.schedule(60 * DAY_MS, fire)
    jest.advanceTimersByTime(60 * DAY_MS - 1)
    expect(fire).not.toHaveBeenCalled()
    jest.advanceTimersByTime(1)
    expect(fire).toHaveBeenCalledTimes(1)
    expect(jest.getTimerCount()).toBe(0)
  })

  test('the system clock never calls back after an infinite wait', () => {
    const fire = jest.fn()
    const cancel = systemClock.schedule(Number.POSITIVE_INFINITY, fire)
    jest.advanceTimersByTime(100 * DAY_MS)
    expect(fire).not.toHaveBeenCalled()
    cancel()
    expect(jest.getTimerCount()).toBe(0)
  })

  test('the system clock does not call back early if `setTimeout` fires early', () => {
    const now = jest.spyOn(performance, 'now').mockReturnValue(0.9)
    const fire = jest.fn()
    systemClock.schedule(10, fire)
    now.mockReturnValue(10.4)
    jest.advanceTimersByTime(10)
    expect(fire).not.toHaveBeenCalled()
    now.mockReturnValue(11.4)
    jest.advanceTimersByTime(1)
    expect(fire).toHaveBeenCalledTimes(1)
  })

  test('the system clock leaves no timer behind when a wait is cancelled, even late in a long wait', () => {
    const fire = jest.fn()
    const cancel = systemClock.schedule(60 * DAY_MS, fire)
    jest.advanceTimersByTime(40 * DAY_MS)
    cancel()
    cancel()
    expect(jest.getTimerCount()).toBe(0)
    jest.advanceTimersByTime(60 * DAY_MS)
    expect(fire).not.toHaveBeenCalled()
  })

  test('the system clock returns wall time and monotonic time', () => {
    jest.setSystemTime(1_800_000_000_000)
    const before = systemClock.monotonic()
    expect(systemClock.now()).toBe(1_800_000_000_000)
    jest.setSystemTime(1_700_000_000_000)
    expect(systemClock.monotonic()).toBe(before)
    jest.advanceTimersByTime(250)
    expect(systemClock.monotonic()).toBe(before + 250)
    expect(systemClock.random()).toBeGreaterThanOrEqual(0)
    expect(systemClock.random()).toBeLessThan(1)
  })

  test('`sleep` of the system clock resolves after the given time', async () => {
    const slept = systemClock.sleep(1000)
    await jest.advanceTimersByTimeAsync(1000)
    await expect(slept).resolves.toBeUndefined()
  })
})

describe('sleep', () => {
  test('`sleep` resolves when the time is over, and removes its abort listener', async () => {
    const clock = new FakeClock()
    const { signal } = new AbortController()
    const slept = clock.sleep(100, signal)
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    await clock.advance(100)
    await expect(slept).resolves.toBeUndefined()
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  test('`sleep` rejects with the reason when its signal is aborted, and cancels its timer', async () => {
    const clock = new FakeClock()
    const controller = new AbortController()
    const reason = new Error('enough')
    const slept = clock.sleep(100, controller.signal)
    controller.abort(reason)
    await expect(slept).rejects.toBe(reason)
    expect(clock.pending).toBe(0)
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
  })

  test('`sleep` rejects at once if its signal is already aborted', async () => {
    const clock = new FakeClock()
    const reason = new Error('too late')
    await expect(clock.sleep(100, AbortSignal.abort(reason))).rejects.toBe(reason)
    expect(clock.pending).toBe(0)
  })
})
