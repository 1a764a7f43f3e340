import { beforeEach, expect, test } from '@jest/globals'
import { Batches, inBatches } from './batches.ts'
import { FakeClock } from './testing/fake-clock.ts'

let clock: FakeClock
let batches: Batches
beforeEach(() => {
  clock = new FakeClock()
  batches = new Batches(clock)
})

/** Pieces of work of these lengths, and after which of them a pause is due. */
async function work(...lengths: number[]): Promise<boolean[]> {
  const over: boolean[] = []
  for (const ms of lengths) {
    await clock.advance(ms)
    over.push(batches.over)
  }
  return over
}

test('a batch is over after ten milliseconds of work', async () => {
  expect(await work(4, 4, 4)).toEqual([false, false, true])
})

test('another one begins with a pause, or where the work was interrupted anyway', async () => {
  await work(4, 4, 4)
  const pausing = batches.pause(undefined)
  await clock.advance(0)
  await pausing
  expect(await work(4, 4, 500, 4, 4, 4)).toEqual([false, false, false, false, false, true])
})

test('a pause ends with the signal', async () => {
  await expect(batches.pause(AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough')
})

test('all items are visited in batches, each once', async () => {
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
