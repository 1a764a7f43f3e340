import { expect, it } from '@jest/globals'
import { Progress, progressText } from './progress.ts'

it.each([
  [{ done: 0, total: 10, elapsedMs: 4000, running: ['a'] }, '0 of 10, 4 s so far: a'],
  [
    { done: 2, total: 10, elapsedMs: 60_000, running: ['a', 'b', 'c'] },
    '2 of 10, 60 s so far, about 4 min left: a and 2 more',
  ],
  [{ done: 10, total: 10, elapsedMs: 119_400, running: [] }, '10 of 10, 119 s so far'],
])('the progress %o has the text "%s"', (state, text) => {
  expect(progressText(state)).toBe(text)
})

function watched(isTTY: boolean): { progress: Progress; written: string[]; advance: (ms: number) => void } {
  let now = 0
  const written: string[] = []
  const stream = { write: (text: string) => written.push(text), isTTY, columns: 24 }
  const progress = new Progress(3, stream, { monotonic: () => now })
  const advance = (ms: number): void => {
    now += ms
  }
  return { progress, written, advance }
}

it('the progress in a terminal is one line below the other lines, and `stop` clears it', () => {
  const { progress, written, advance } = watched(true)
  advance(5000)
  progress.begin('one')
  advance(1000)
  progress.printLine('ok one')
  progress.end('one')
  progress.stop()
  expect(written).toEqual([
    '\r\u001b[K0 of 3, 0 s so far: one',
    '\r\u001b[Kok one\n',
    '\r\u001b[K0 of 3, 1 s so far: one',
    '\r\u001b[K1 of 3, 1 s so far, ab…',
    '\r\u001b[K',
  ])
})

it('the progress in a log is printed as one line each minute', () => {
  const { progress, written, advance } = watched(false)
  progress.begin('one')
  progress.printLine('ok one')
  advance(59_999)
  progress.end('one')
  advance(1)
  progress.begin('two')
  progress.begin('three')
  progress.stop()
  expect(written).toEqual(['ok one\n', '1 of 3, 60 s so far, about 2 min left: two\n'])
})
