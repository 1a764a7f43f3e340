import { expect, it } from '@jest/globals'
import { lineOfLast, type RunResult, rows } from './table.ts'

const result = (command: string, seconds: number, text = 'nothing is left'): RunResult => ({
  command,
  kubernetes: '1.36',
  driver: 'ours',
  text,
  seconds,
})

it('a row has the last text of a command, and the median time of its last three runs', () => {
  const runs = [100, 31, 33, 35].map((seconds) => result('life', seconds))
  expect(rows([...runs, result('swap', 8, 'no byte is lost')])).toEqual([
    ['`life`', 'nothing is left', '33 s, median of 3'],
    ['`swap`', 'no byte is lost', '8 s'],
  ])
})

it('runs on other versions of Kubernetes have a row of their own', () => {
  expect(rows([result('life', 1), { ...result('life', 2), kubernetes: '1.37' }])).toHaveLength(2)
})

it('the line of the last run is that of its driver, although another driver has a later row', () => {
  const run = { ...result('life', 5), driver: 'hostpath' } as const
  expect(lineOfLast([run, result('life', 7), run])).toBe(
    '`life`, csi-driver-host-path: nothing is left: 5 s, median of 2',
  )
})
