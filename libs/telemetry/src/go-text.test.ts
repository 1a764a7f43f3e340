import { expect, test } from '@jest/globals'
import { goFloat, goQuote } from './go-text.ts'

test.each([
  [0, '0'],
  [-0, '-0'],
  [1, '1'],
  [0.1, '0.1'],
  [0.0001, '0.0001'],
  [0.00001, '1e-05'],
  [9.999999999999999e-6, '9.999999999999999e-06'],
  [1e-8, '1e-08'],
  [262144, '262144'],
  [1048576, '1.048576e+06'],
  [1e6, '1e+06'],
  [1e100, '1e+100'],
  [-16777216, '-1.6777216e+07'],
  [Number.POSITIVE_INFINITY, '+Inf'],
  [Number.NEGATIVE_INFINITY, '-Inf'],
  [Number.NaN, 'NaN'],
])('the log prints the number %d as Go does: %s', (value, text) => {
  expect(goFloat(value)).toBe(text)
})

test.each([
  ['', '""'],
  ['\u0007\b\f\n\r\t\v', '"\\a\\b\\f\\n\\r\\t\\v"'],
  ['\u0000\u001f\u007f', '"\\x00\\x1f\\x7f"'],
  ['\u0085\u00ad\u3000\ufeff', '"\\u0085\\u00ad\\u3000\\ufeff"'],
  ['\u{e0001}', '"\\U000e0001"'],
  ['a b', '"a b"'],
])('the log quotes the text %j as Go does: %s', (text, quoted) => {
  expect(goQuote(text)).toBe(quoted)
})
