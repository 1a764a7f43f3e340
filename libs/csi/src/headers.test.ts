import http2 from 'node:http2'
import { expect, jest, test } from '@jest/globals'
import { keepDriversWords } from './headers.ts'

test('another copy of the module does not do it again', async () => {
  keepDriversWords()
  const { connect } = http2
  jest.resetModules()
  const copy = await import('./headers.ts')
  expect(copy.keepDriversWords).not.toBe(keepDriversWords)
  copy.keepDriversWords()
  expect(http2.connect).toBe(connect)
})
