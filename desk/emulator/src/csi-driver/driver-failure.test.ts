import { status } from '@grpc/grpc-js'
import { expect, test } from '@jest/globals'
import { DriverFailure } from './driver-failure.ts'

test('a failure becomes a gRPC error with its code and message', () => {
  const error = new DriverFailure('ABORTED', 'busy').toServiceError()
  expect(error).toMatchObject({ code: status.ABORTED, details: 'busy' })
  expect(error.metadata.getMap()).toEqual({})
})

test('a retry delay becomes google.rpc.RetryInfo in the error details', () => {
  const error = new DriverFailure('UNAVAILABLE', 'no', { retryAfterMs: 1_500 }).toServiceError()
  const [details] = error.metadata.get('grpc-status-details-bin')
  const retryInfo = '0a09' /* retry_delay */ + '08011080cab5ee01' /* 1 s, 500,000,000 ns */
  expect(Buffer.from(details as Buffer).toString('hex')).toContain(retryInfo.slice(4))
  expect(Buffer.from(details as Buffer).toString('latin1')).toContain('type.googleapis.com/google.rpc.RetryInfo')
})

test('a failure may have a status code that gRPC does not define', () => {
  expect(new DriverFailure(99, 'strange').toServiceError().code).toBe(99)
})
