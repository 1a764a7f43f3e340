import { expect, it } from '@jest/globals'
import { shrink } from './shrink.ts'

const steps = Array.from({ length: 40 }, (_, index) => index)

it.each([[[7]], [[3, 30]], [[0, 17, 39]], [[10, 11, 12, 13]]])('`shrink` finds failing steps: %j', async (needed) => {
  const fails = async (candidate: readonly number[]): Promise<boolean> =>
    needed.every((each) => candidate.includes(each))
  expect(await shrink(steps, fails, { tries: 500 })).toEqual(needed)
  expect(await shrink(steps, fails, { tries: 500, concurrency: 4 })).toEqual(needed)
})

it('`shrink` stops after the allowed number of tries, and returns the shortest failing list', async () => {
  let tried = 0
  const fails = async (candidate: readonly number[]): Promise<boolean> => {
    tried += 1
    return candidate.includes(39)
  }
  const left = await shrink(steps, fails, { tries: 3 })
  expect(tried).toBeLessThanOrEqual(3)
  expect(left.length).toBeLessThan(steps.length)
  expect(left).toContain(39)
})

it('`shrink` keeps all steps if none can be left out', async () => {
  expect(await shrink([1, 2, 3], async () => false, { tries: 100 })).toEqual([1, 2, 3])
})
