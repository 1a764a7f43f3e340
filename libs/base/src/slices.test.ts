import { beforeEach, expect, test } from '@jest/globals'
import { FakeClock } from './fake-clock.ts'
import { inSlices, Slices } from './slices.ts'

let clock: FakeClock
let slices: Slices
beforeEach(() => {
  clock = new FakeClock()
  slices = new Slices(clock)
})

/** Pieces of work of these lengths, and after which of them it is time for a pause. */
async function work(...lengths: number[]): Promise<boolean[]> {
  const over: boolean[] = []
  for (const ms of lengths) {
    await clock.advance(ms)
    over.push(slices.over)
  }
  return over
}

test('a slice is over after ten milliseconds of work', async () => {
  expect(await work(4, 4, 4)).toEqual([false, false, true])
})

test('another one begins with a pause, or where the work was interrupted anyway', async () => {
  await work(4, 4, 4)
  const pausing = slices.pause(undefined)
  await clock.advance(0)
  await pausing
  expect(await work(4, 4, 500, 4, 4, 4)).toEqual([false, false, false, false, false, true])
})

test('a pause ends with the signal', async () => {
  await expect(slices.pause(AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough')
})

test('many are seen in slices, each once', async () => {
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
  await inSlices([0, 1, 2, 3, 4, 5, 6], see, { clock: { monotonic: () => now, sleep }, signal })
  expect(seen).toEqual([0, 1, 2, 'pause', 3, 4, 5, 'pause', 6])
})
