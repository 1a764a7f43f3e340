import { status } from '@grpc/grpc-js'
import { expect, test } from '@jest/globals'
import { DriverFailure } from './driver-failure.ts'

test('a failure becomes trailers with its code and its escaped message', () => {
  const trailers = new DriverFailure('ABORTED', '100 % busy: é😀\n').toTrailers()
  expect(trailers).toEqual({
    'grpc-status': String(status.ABORTED),
    'grpc-message': '100 %25 busy: %C3%A9%F0%9F%98%80%0A',
  })
})

test('a retry delay becomes google.rpc.RetryInfo in the error details', () => {
  const trailers = new DriverFailure('UNAVAILABLE', 'no', { retryAfterMs: 1_500 }).toTrailers()
  const details = Buffer.from(trailers['grpc-status-details-bin'] ?? '', 'base64')
  const retryInfo = '0a09' /* retry_delay */ + '08011080cab5ee01' /* 1 s, 500,000,000 ns */
  expect(details.toString('hex')).toContain(retryInfo.slice(4))
  expect(details.toString('latin1')).toContain('type.googleapis.com/google.rpc.RetryInfo')
})

test('a failure may have a status code that gRPC does not define', () => {
  expect(new DriverFailure(99, 'strange').toTrailers()).toMatchObject({ 'grpc-status': '99' })
})
