import { expect, it } from '@jest/globals'
import { type RunResult, rowOfLast, rows } from './table.ts'

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
    '| `npm run node -- life` | nothing is left; 33 s, median of 3; Kubernetes 1.36, the driver of this repository |',
    '| `npm run node -- swap` | no byte is lost; 8 s; Kubernetes 1.36, the driver of this repository |',
  ])
})

it('runs on other versions of Kubernetes have a row of their own', () => {
  expect(rows([result('life', 1), { ...result('life', 2), kubernetes: '1.37' }])).toHaveLength(2)
})

it('the row of the last run is the row of its driver, although another driver has a later row', () => {
  const run = { ...result('life', 5), driver: 'hostpath' } as const
  expect(rowOfLast([run, result('life', 7), run])).toBe(
    '| `npm run node -- life` | nothing is left; 5 s, median of 2; Kubernetes 1.36, csi-driver-host-path |',
  )
})
