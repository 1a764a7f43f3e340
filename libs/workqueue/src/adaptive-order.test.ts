import { FakeClock } from '@csi-sidecars/base/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { AdaptiveOrder } from './adaptive-order.ts'
import { FifoOrder } from './fifo-order.ts'

let clock: FakeClock
let limits: number[]
let order: AdaptiveOrder
beforeEach(() => {
  clock = new FakeClock()
  limits = []
  order = new AdaptiveOrder({ order: new FifoOrder(), max: 8, clock, onLimit: (limit) => limits.push(limit) })
})

const push = (count: number): void => {
  for (let key = 0; key < count; key += 1) order.push(`k${key}`, 'normal')
}
const popAll = (): readonly string[] => {
  const keys: string[] = []
  for (let key = order.pop(); key !== undefined; key = order.pop()) keys.push(key)
  return keys
}
const refuse = (keys: readonly string[]): void => {
  for (const key of keys) {
    order.refused(key)
    order.release(key)
  }
}

describe('AdaptiveOrder', () => {
  it('starts with its upper bound', () => {
    push(10)
    expect([popAll().length, order.length, limits]).toEqual([8, 2, [8]])
  })

  it('halves the limit once if the runs of many keys are refused at once', async () => {
    push(10)
    const keys = popAll()
    await clock.advance(10)
    refuse(keys)
    expect([order.limit, popAll().length]).toEqual([3, 2])
  })

  it('never starts fewer than one key', async () => {
    push(8)
    for (let round = 0; round < 6; round += 1) {
      const keys = popAll()
      await clock.advance(10)
      refuse(keys)
      push(8)
    }
    expect([order.limit, popAll().length]).toEqual([1, 1])
  })

  it('does not change the limit if one or two keys are refused again and again', async () => {
    for (let round = 0; round < 20; round += 1) {
      push(2)
      const keys = popAll()
      await clock.advance(10)
      refuse(keys)
    }
    expect(limits).toEqual([8])
  })

  it('raises the limit by one after each round of successes, up to its upper bound', async () => {
    push(8)
    const keys = popAll()
    await clock.advance(10)
    refuse(keys)
    for (let success = 0; success < 200; success += 1) {
      push(1)
      for (const key of popAll()) {
        order.succeeded()
        order.release(key)
      }
    }
    expect(limits).toEqual([8, 3, 4, 5, 6, 7, 8])
  })

  it('forgets refusals after a minute without a running key', async () => {
    push(8)
    const keys = popAll()
    await clock.advance(10)
    refuse(keys)
    await clock.advance(60_000)
    push(10)
    expect([popAll().length, limits]).toEqual([8, [8, 3, 8]])
  })
})
