import { expect, it } from '@jest/globals'
import { runSeeds, type SeedVerdict, seedsOf, tableOf } from './seeds.ts'

it.each([
  ['3', [3]],
  ['2-4', [2, 3, 4]],
])('the text "%s" means the seeds %j', (text, seeds) => expect(seedsOf('seeds', text)).toEqual(seeds))

it.each([
  ['x', '--seeds x: a seed is a whole number, several are as 1-10'],
  ['99999999999999999999', '--seeds 99999999999999999999: a seed is a whole number, several are as 1-10'],
  ['4-2', '--seeds 4-2: the last seed comes before the first'],
  ['1-10001', '--seeds 1-10001: a run has 10000 seeds at most'],
])('the text "%s" is refused as seeds', (text, why) => expect(() => seedsOf('seeds', text)).toThrow(new Error(why)))

it('a run of seeds prints a line, the findings and the repeat command of each seed', async () => {
  const lines: string[] = []
  const verdicts: Record<number, SeedVerdict> = {
    1: { findings: [], summary: '5 steps', appendix: ['as before'] },
    2: {
      findings: [{ rule: 'nothing is left', text: 'one is', subject: 'x' }],
      summary: '6 steps',
      details: ({ subject }) => [`about ${subject}`],
      appendix: ['two steps matter'],
    },
  }
  const run = async (seed: number): Promise<SeedVerdict> => verdicts[seed] ?? { findings: [], summary: '' }
  const allPassed = await runSeeds([1, 2], {
    run,
    printLine: (line) => lines.push(line),
    title: 'real',
    again: (seed) => `npm run it -- --seeds ${seed}`,
  })
  expect(allPassed).toBe(false)
  expect(lines).toEqual([
    'ok   real seed 1: 5 steps',
    '     as before',
    'FAIL real seed 2: 6 steps',
    '     nothing is left: one is',
    '       about x',
    '     two steps matter',
    '     again: npm run it -- --seeds 2',
    '1 passed, 1 failed',
  ])
})

it('a run of seeds tests several seeds at a time, and prints at most ten findings of each', async () => {
  const lines: string[] = []
  let running = 0
  let most = 0
  const run = async (): Promise<SeedVerdict> => {
    running += 1
    most = Math.max(most, running)
    await Promise.resolve()
    running -= 1
    return { findings: Array.from({ length: 12 }, (_, nth) => ({ rule: 'r', text: String(nth) })), summary: '' }
  }
  await runSeeds(seedsOf('seeds', '1-7'), { run, printLine: (line) => lines.push(line), again: String, concurrency: 3 })
  expect(most).toBe(3)
  expect(lines.filter((line) => line === '     and 2 more')).toHaveLength(7)
})

it('a run without seeds fails', async () => {
  expect(
    await runSeeds([], { run: async () => ({ findings: [], summary: '' }), printLine: () => undefined, again: String }),
  ).toBe(false)
})

it('`tableOf` aligns the columns of a table', () => {
  expect(
    tableOf([
      ['1', 'a', 'x'],
      ['10', 'abc', 'y'],
    ]),
  ).toEqual(['1   a    x', '10  abc  y'])
})

it('an aborted run of seeds starts no further seed', async () => {
  const interrupt = new AbortController()
  const begun: number[] = []
  const lines: string[] = []
  const run = async (seed: number): Promise<SeedVerdict> => {
    begun.push(seed)
    interrupt.abort()
    return { findings: [], summary: 'half' }
  }
  const printLine = (line: string): void => void lines.push(line)
  expect(await runSeeds([1, 2], { run, printLine, again: String, signal: interrupt.signal })).toBe(false)
  expect([begun, lines]).toEqual([[1], ['ok   seed 1: half', '1 passed, 0 failed']])
})
