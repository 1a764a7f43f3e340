import { expect, it } from '@jest/globals'
import { quoted } from './go-text.ts'

it.each<[text: string, inQuotes: string]>([
  ['', '""'],
  ['pv-1', '"pv-1"'],
  ['a "b" \\c', '"a \\"b\\" \\\\c"'],
  ['\x07\b\f\n\r\t\v', '"\\a\\b\\f\\n\\r\\t\\v"'],
  ['\x00\x1b\x7f', '"\\x00\\x1b\\x7f"'],
  ['é€😀', '"é€😀"'],
  ['\u00a0\u200b', '"\\u00a0\\u200b"'],
  ['\u{e0001}', '"\\U000e0001"'],
])('quotes %j as Go does', (text, inQuotes) => {
  expect(quoted(text)).toBe(inQuotes)
})
