import http2 from 'node:http2'
import { expect, jest, test } from '@jest/globals'
import { decodeStatusMessageAsUtf8 } from './headers.ts'

test('a second copy of the module `headers` does not replace `http2.connect` again', async () => {
  decodeStatusMessageAsUtf8()
  const { connect } = http2
  jest.resetModules()
  const copy = await import('./headers.ts')
  expect(copy.decodeStatusMessageAsUtf8).not.toBe(decodeStatusMessageAsUtf8)
  copy.decodeStatusMessageAsUtf8()
  expect(http2.connect).toBe(connect)
})
