import { expect, it, test } from '@jest/globals'
import fc from 'fast-check'
import { quoted, textBehind, textBetween } from './go-text.ts'

it.each<[text: string, inQuotes: string]>([
  ['', '""'],
  ['pv-1', '"pv-1"'],
  ['a "b" \\c', '"a \\"b\\" \\\\c"'],
  ['\x07\b\f\n\r\t\v', '"\\a\\b\\f\\n\\r\\t\\v"'],
  ['\x00\x1b\x7f', '"\\x00\\x1b\\x7f"'],
  ['é€😀', '"é€😀"'],
  ['\u00a0\u200b', '"\\u00a0\\u200b"'],
  ['\u{e0001}', '"\\U000e0001"'],
])('`quoted` quotes %j as Go does', (text, inQuotes) => {
  expect(quoted(text)).toBe(inQuotes)
})

/** Texts of only a few characters, so that the separators in the searches below occur often. */
const texts = fc.string({ unit: fc.constantFrom('a', 'b', '/', '\n', 'x'), maxLength: 30 })

test('the text search functions and the regular expressions of Go find the same parts', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const last = { at: /(?=\/b)/g, length: 2 }
      expect(textBehind(text, ['a', '/'], last)).toBe(/[^\n]*a[^\n]*\/[^\n]*\/b([^\n]+)/.exec(text)?.[1])
      expect(textBetween(text, 'a/', '/b')).toBe(/a\/([^\n]+)\/b/.exec(text)?.[1])
    }),
    { numRuns: 5_000 },
  )
})
