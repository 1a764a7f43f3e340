import http2 from 'node:http2'
import { expect, jest, test } from '@jest/globals'
import { decodeStatusMessageAsUtf8 } from './headers.ts'

test('two copies of the module `headers` replace `http2.connect` only once', async () => {
  decodeStatusMessageAsUtf8()
  const { connect } = http2
  jest.resetModules()
  const copy = await import('./headers.ts')
  expect(copy.decodeStatusMessageAsUtf8).not.toBe(decodeStatusMessageAsUtf8)
  copy.decodeStatusMessageAsUtf8()
  expect(http2.connect).toBe(connect)
})
