import { describe, expect, it } from '@jest/globals'
import { SelectionDelays } from './selection-delays.ts'

const NODE = { baseDelayMs: 100, maxDelayMs: 350 }

function atTime() {
  const time = { now: 0, random: 0.25 }
  const delays = new SelectionDelays({ monotonic: () => time.now, random: () => time.random })
  return { time, delays, waitMs: () => delays.waitMs('uid', NODE) }
}

describe('Ownership', () => {
  it('the delay before this node selects itself for a claim starts at the first call of `waitMs`', () => {
    const { time, waitMs } = atTime()
    expect(waitMs()).toBe(75)
    time.now = 60
    expect(waitMs()).toBe(15)
    time.now = 1000
    expect(waitMs()).toBe(0)
  })

  it('each failed attempt to select this node for a claim doubles the delay, up to the maximum', () => {
    const { time, delays, waitMs } = atTime()
    waitMs()
    for (const expected of [175, 325, 325]) {
      delays.lengthenNext('uid')
      time.now += 5000
      expect(waitMs()).toBe(expected)
    }
  })

  it('a forgotten claim starts again with the shortest delay', () => {
    const { delays, waitMs } = atTime()
    delays.lengthenNext('uid')
    delays.forget('uid')
    expect(waitMs()).toBe(75)
  })
})
