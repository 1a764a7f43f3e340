import { expect, it } from '@jest/globals'
import { ProgressPrinter } from './progress.ts'

function shown(interactive: boolean, ...done: readonly number[]): readonly string[] {
  const texts: string[] = []
  const printer = new ProgressPrinter({ write: (text) => texts.push(text), interactive })
  for (const each of done) printer.show({ done: each, doing: each < 1 ? 'faults' : 'end', calls: 7, found: 1 })
  printer.end()
  return texts
}

it('a terminal has a bar that is replaced', () => {
  const [first, second, ...end] = shown(true, 0.25, 1)
  expect(first).toBe('\r\u001b[K  [#####...............] faults, 7 calls, 1 found')
  expect(second).toBe('\r\u001b[K  [####################] end, 7 calls, 1 found')
  expect(end).toEqual(['\r\u001b[K'])
})

it('a file has a line for each quarter, and for what comes after the faults', () => {
  expect(shown(false, 0, 0.1, 0.3, 0.49, 1, 1)).toEqual([
    '  0 %: faults, 7 calls, 1 found\n',
    '  30 %: faults, 7 calls, 1 found\n',
    '  100 %: end, 7 calls, 1 found\n',
  ])
})
