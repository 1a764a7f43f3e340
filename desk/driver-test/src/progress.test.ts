import { expect, it } from '@jest/globals'
import { ProgressPrinter } from './progress.ts'

function linesOf(interactive: boolean, ...done: readonly number[]): readonly string[] {
  const texts: string[] = []
  const printer = new ProgressPrinter({ write: (text) => texts.push(text), interactive })
  for (const each of done) printer.show({ done: each, doing: each < 1 ? 'faults' : 'end', calls: 7, found: 1 })
  printer.end()
  return texts
}

it('the progress in a terminal is a bar that is drawn again in the same line', () => {
  const [first, second, ...end] = linesOf(true, 0.25, 1)
  expect(first).toBe('\r\u001b[K  [#####...............] faults, 7 calls, 1 found')
  expect(second).toBe('\r\u001b[K  [####################] end, 7 calls, 1 found')
  expect(end).toEqual(['\r\u001b[K'])
})

it('the progress in a file is a line for each quarter of the faults and for each later phase', () => {
  expect(linesOf(false, 0, 0.1, 0.3, 0.49, 1, 1)).toEqual([
    '  0 %: faults, 7 calls, 1 found\n',
    '  30 %: faults, 7 calls, 1 found\n',
    '  100 %: end, 7 calls, 1 found\n',
  ])
})
