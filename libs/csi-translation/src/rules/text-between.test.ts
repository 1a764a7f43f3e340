import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { textBehind, textBetween } from './text-between.ts'

/** Texts of few characters, so that the marks occur often. */
const texts = fc.string({ unit: fc.constantFrom('a', 'b', '/', '\n', 'x'), maxLength: 30 })

test('the searches find the same texts as the expressions of Go', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const last = { at: /(?=\/b)/g, length: 2 }
      expect(textBehind(text, ['a', '/'], last)).toBe(/[^\n]*a[^\n]*\/[^\n]*\/b([^\n]+)/.exec(text)?.[1])
      expect(textBetween(text, 'a/', '/b')).toBe(/a\/([^\n]+)\/b/.exec(text)?.[1])
    }),
    { numRuns: 5_000 },
  )
})
