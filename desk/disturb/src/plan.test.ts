import { FakeClock } from '@csi-sidecars/base/testing'
import { expect, it } from '@jest/globals'
import { play, scattered } from './plan.ts'
import { seeded } from './random.ts'

it('a random plan spreads all steps over the given time', () => {
  const plan = scattered(seeded(5), 1000, ['a', 'b', 'c', 'd'])
  expect(plan.map(({ step }) => step).toSorted()).toEqual(['a', 'b', 'c', 'd'])
  expect(plan.every(({ afterMs }) => afterMs >= 0)).toBe(true)
  expect(plan.reduce((sum, { afterMs }) => sum + afterMs, 0)).toBeLessThanOrEqual(1000)
})

it('a step that is due during a slow step runs when the slow step ends', async () => {
  const clock = new FakeClock()
  const began = clock.monotonic()
  const seen: [string, number][] = []
  const plan = [
    { afterMs: 10, step: 'quick' },
    { afterMs: 20, step: 'slow' },
    { afterMs: 30, step: 'late' },
  ]
  const perform = (step: string): Promise<void> | void => {
    seen.push([step, clock.monotonic() - began])
    return step === 'slow' ? clock.sleep(100) : undefined
  }
  const played = play(plan, perform, { clock })
  await clock.advance(200)
  await played
  expect(seen).toEqual([
    ['quick', 10],
    ['slow', 30],
    ['late', 130],
  ])
})

it('an aborted plan rejects with the reason of its abort signal', async () => {
  const clock = new FakeClock()
  const life = new AbortController()
  const played = play([{ afterMs: 10, step: 'never' }], () => undefined, { clock, signal: life.signal })
  life.abort(new Error('enough'))
  await expect(played).rejects.toThrow('enough')
})
