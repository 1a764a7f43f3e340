import { expect, test } from '@jest/globals'
import { LineReader } from './line-reader.ts'

interface Read {
  readonly lines: string[]
  readonly partial: boolean
  readonly waiting: number
}

/** Reads a text that arrives in pieces. The reader is asked for lines after every `pause` pieces. */
function read(
  text: string,
  { size = 1, pause = 1, maxBytes }: { size?: number; pause?: number; maxBytes?: number },
): Read {
  const lines: string[] = []
  const reader = new LineReader(maxBytes)
  const bytes = Buffer.from(text)
  const readLines = (): void => {
    for (let line = reader.next(); line !== undefined; line = reader.next()) lines.push(line)
  }
  for (let at = 0, piece = 1; at < bytes.length; at += size, piece += 1) {
    reader.push(bytes.subarray(at, at + size))
    if (piece % pause === 0) readLines()
  }
  readLines()
  return { lines, partial: reader.hasPartialFrame, waiting: reader.unreadBytes }
}

test('the line reader returns whole lines, even if a chunk ends within a character', () => {
  const text = 'one\nzwei–äöü\n\n\r\n日本\nrest'
  for (let size = 1; size < 40; size += 1) {
    for (let pause = 1; pause < 5; pause += 1) {
      const expected: Read = { lines: ['one', 'zwei–äöü', '日本'], partial: true, waiting: 4 }
      expect(read(text, { size, pause })).toEqual(expected)
    }
  }
})

test('the line reader has no unread bytes after the last line break', () => {
  expect(read('one\ntwo\n', { size: 3 })).toEqual({ lines: ['one', 'two'], partial: false, waiting: 0 })
})

test('the line reader refuses a line that exceeds the limit', () => {
  expect(() => read('x'.repeat(101), { size: 10, maxBytes: 100 })).toThrow(RangeError)
})
