import { FakeClock } from '@csi-sidecars/base/testing'
import { expect, it } from '@jest/globals'
import { type BrokenInvariant, converge, findingsIn } from './invariants.ts'

it('each finding contains the name of its invariant', () => {
  const invariants = [
    { name: 'positive', broken: (state: number) => (state > 0 ? [] : [`${state}`]) },
    { name: 'even', broken: (state: number) => (state % 2 === 0 ? [] : [{ text: `${state}`, about: 'x' }]) },
  ]
  expect(findingsIn(invariants, 2)).toEqual([])
  expect(findingsIn(invariants, -1)).toEqual([
    { rule: 'positive', text: '-1' },
    { rule: 'even', text: '-1', about: 'x' },
  ])
})

it('`converge` repeats a check until it has no findings', async () => {
  const clock = new FakeClock()
  const looks: BrokenInvariant[][] = [[{ rule: 'r', text: '1' }], [{ rule: 'r', text: '2' }], []]
  const converged = converge(() => looks.shift() ?? [], { clock, withinMs: 1000, everyMs: 100 })
  await clock.advance(200)
  expect(await converged).toEqual([])
})

it('`converge` returns the last findings of its check when the time is over', async () => {
  const clock = new FakeClock()
  let looks = 0
  const look = (): BrokenInvariant[] => [{ rule: 'r', text: String(++looks) }]
  const converged = converge(look, { clock, withinMs: 250, everyMs: 100 })
  await clock.advance(300)
  expect(await converged).toEqual([{ rule: 'r', text: '4' }])
})
