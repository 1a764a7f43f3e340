import { expect, test } from '@jest/globals'
import { inParallel } from './in-parallel.ts'
import { FakeClock } from './testing/fake-clock.ts'

test('all items are worked on in order, some at a time', async () => {
  const begun: string[] = []
  let running = 0
  let most = 0
  await inParallel(2, 'abcde', async (item, index) => {
    begun.push(`${index} ${item}`)
    running += 1
    most = Math.max(most, running)
    await Promise.resolve()
    running -= 1
  })
  expect(begun).toEqual(['0 a', '1 b', '2 c', '3 d', '4 e'])
  expect(most).toBe(2)
})

test('after a failure no other item is begun', async () => {
  const begun: number[] = []
  const held = Promise.withResolvers<void>()
  const work = async (item: number): Promise<void> => {
    begun.push(item)
    if (item === 1) throw new Error('no')
    await held.promise
  }
  await expect(inParallel(2, [1, 2, 3], work)).rejects.toThrow('no')
  held.resolve()
  await new FakeClock().settle()
  expect(begun).toEqual([1, 2])
})
