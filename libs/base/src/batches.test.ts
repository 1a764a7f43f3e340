import { beforeEach, expect, test } from '@jest/globals'
import { BatchTimer, inBatches, inParallel } from './batches.ts'
import { FakeClock } from './testing/fake-clock.ts'

let clock: FakeClock
let batches: BatchTimer
beforeEach(() => {
  clock = new FakeClock()
  batches = new BatchTimer(clock)
})

/** Simulates pieces of work of the given milliseconds. Returns for each piece whether a pause is due after it. */
async function work(...lengths: number[]): Promise<boolean[]> {
  const over: boolean[] = []
  for (const ms of lengths) {
    await clock.advance(ms)
    over.push(batches.isPauseDue)
  }
  return over
}

test('a batch of work ends after ten milliseconds', async () => {
  expect(await work(4, 4, 4)).toEqual([false, false, true])
})

test('a new batch of work begins after a pause or any other interruption', async () => {
  await work(4, 4, 4)
  const pausing = batches.pause(undefined)
  await clock.advance(0)
  await pausing
  expect(await work(4, 4, 500, 4, 4, 4)).toEqual([false, false, false, false, false, true])
})

test('the pause between two batches of work rejects if its signal is aborted', async () => {
  await expect(batches.pause(AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough')
})

test('`inBatches` visits each item once and pauses after each batch', async () => {
  let now = 0
  const seen: (number | string)[] = []
  const sleep = async (): Promise<void> => {
    seen.push('pause')
  }
  const see = (item: number): void => {
    now += 4
    seen.push(item)
  }
  const { signal } = new AbortController()
  await inBatches([0, 1, 2, 3, 4, 5, 6], see, { clock: { monotonic: () => now, sleep }, signal })
  expect(seen).toEqual([0, 1, 2, 'pause', 3, 4, 5, 'pause', 6])
})

test('`inParallel` starts the items in order and runs a limited number of them at a time', async () => {
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

test('`inParallel` starts no further item after a failure', async () => {
  const begun: number[] = []
  const gate = Promise.withResolvers<void>()
  const work = async (item: number): Promise<void> => {
    begun.push(item)
    if (item === 1) throw new Error('no')
    await gate.promise
  }
  await expect(inParallel(2, [1, 2, 3], work)).rejects.toThrow('no')
  gate.resolve()
  await new FakeClock().settle()
  expect(begun).toEqual([1, 2])
})
