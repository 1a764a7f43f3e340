import { expect, test } from '@jest/globals'
import { LineSplitter } from './line-splitter.ts'

function split(text: string, size: number, longest?: number): { lines: string[]; partial: boolean } {
  const lines: string[] = []
  const splitter = new LineSplitter((line) => lines.push(line), longest)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) splitter.push(bytes.subarray(at, at + size))
  return { lines, partial: splitter.partial }
}

test('lines come out whole, however they are cut up, letters of several bytes included', () => {
  const text = 'one\nzwei–äöü\n\n\r\n日本\nrest'
  for (let size = 1; size < 40; size += 1) {
    expect(split(text, size)).toEqual({ lines: ['one', 'zwei–äöü', '日本'], partial: true })
  }
})

test('nothing is left after a last line break', () => {
  expect(split('one\ntwo\n', 3)).toEqual({ lines: ['one', 'two'], partial: false })
})

test('a line that does not end is refused before it eats the memory', () => {
  expect(() => split('x'.repeat(101), 10, 100)).toThrow(RangeError)
})
