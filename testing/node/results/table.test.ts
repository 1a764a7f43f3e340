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
  const runs = [100, 31, 33, 35].map((seconds) => result('swap', seconds))
  expect(rows([...runs, result('faults', 8, 'no byte is lost')])).toEqual([
    ['`swap`', 'nothing is left', '33 s; median of 3'],
    ['`faults`', 'no byte is lost', '8 s'],
  ])
})

it('the sidecars of a command share its row, with the smallest number of their runs', () => {
  const go = { ...result('life', 4), sidecars: 'go' } as const
  const ours = { ...result('life', 6), sidecars: 'ours' } as const
  expect(rows([go, ours, go, ours, ours])).toEqual([['`life`', 'nothing is left', 'go 4 s, ours 6 s; median of 2']])
})

it('a row shows the result of each sidecar variant if the results differ', () => {
  const go = { ...result('life', 4, 'one is left'), sidecars: 'go' } as const
  const ours = { ...result('life', 6), sidecars: 'ours' } as const
  expect(rows([go, ours])).toEqual([['`life`', 'go one is left; ours nothing is left', 'go 4 s, ours 6 s']])
})

it('runs on other versions of Kubernetes have a row of their own', () => {
  expect(rows([result('life', 1), { ...result('life', 2), kubernetes: '1.37' }])).toHaveLength(2)
})

it('the line of the last run is that of its driver and sidecars, although others have later runs', () => {
  const run = { ...result('life', 5), driver: 'hostpath', sidecars: 'go' } as const
  expect(lineOfLast([run, { ...run, sidecars: 'ours', seconds: 9 }, result('life', 7), run])).toBe(
    '`life`, csi-driver-host-path: nothing is left: go 5 s; median of 2',
  )
})
