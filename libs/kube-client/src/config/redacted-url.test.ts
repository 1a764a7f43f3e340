import { expect, test } from '@jest/globals'
import { redactedUrl } from './redacted-url.ts'

test.each([
  ['http://proxy:3128', 'http://proxy:3128'],
  ['http://me:secret@proxy:3128', 'http://xxxxx@proxy:3128'],
  ['socks5://me:se/cr?et#@proxy', 'socks5://xxxxx@proxy'],
  ['http://me:sec@ret@proxy', 'http://xxxxx@proxy'],
  ['me:secret@proxy:3128', 'xxxxx@proxy:3128'],
  ['HTTP://me:secret@[::1]:1/x', 'HTTP://xxxxx@[::1]:1/x'],
  ['', ''],
])('%s is written as %s', (text, redacted) => {
  expect(redactedUrl(text)).toBe(redacted)
})
