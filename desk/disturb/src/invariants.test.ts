import { FakeClock } from '@csi-sidecars/base/testing'
import { expect, it } from '@jest/globals'
import { type BrokenInvariant, converge, findingsIn } from './invariants.ts'

it('each finding contains the name of its invariant', () => {
  const invariants = [
    { name: 'positive', broken: (state: number) => (state > 0 ? [] : [`${state}`]) },
    { name: 'even', broken: (state: number) => (state % 2 === 0 ? [] : [{ text: `${state}`, subject: 'x' }]) },
  ]
  expect(findingsIn(invariants, 2)).toEqual([])
  expect(findingsIn(invariants, -1)).toEqual([
    { rule: 'positive', text: '-1' },
    { rule: 'even', text: '-1', subject: 'x' },
  ])
})

it('`converge` repeats a check until it has no findings', async () => {
  const clock = new FakeClock()
  const looks: BrokenInvariant[][] = [[{ rule: 'r', text: '1' }], [{ rule: 'r', text: '2' }], []]
  const converged = converge(() => looks.shift() ?? [], { clock, maxChecks: 10, everyMs: 100 })
  await clock.advance(200)
  expect(await converged).toEqual([])
})

it('`converge` returns the last findings after its last check', async () => {
  const clock = new FakeClock()
  let looks = 0
  const check = (): BrokenInvariant[] => [{ rule: 'r', text: String(++looks) }]
  const converged = converge(check, { clock, maxChecks: 4, everyMs: 100 })
  await clock.advance(300)
  expect(await converged).toEqual([{ rule: 'r', text: '4' }])
})

it('`converge` makes all its checks on a machine that stalls during a check', async () => {
  const clock = new FakeClock()
  let looks = 0
  const check = async (): Promise<readonly BrokenInvariant[]> => {
    looks += 1
    if (looks > 1) return []
    await clock.sleep(100_000)
    return [{ rule: 'r', text: 'the machine was stalled' }]
  }
  const converged = converge(check, { clock, maxChecks: 2, everyMs: 100 })
  await clock.advance(100_100)
  expect(await converged).toEqual([])
})
