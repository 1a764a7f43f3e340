import { callFailure } from '@csi-sidecars/controller'
import { CODES, RpcError } from '@csi-sidecars/csi'
import { describe, expect, it } from '@jest/globals'
import { apiError } from '../testing/api-error.ts'
import { concernsVolume, OperationError, rethrowAs } from './failure.ts'

const busy = apiError(429, 'TooManyRequests', 'later')
const thrownBy = (fail: () => never): unknown => {
  try {
    return fail()
  } catch (error) {
    return error
  }
}

describe('concernsVolume', () => {
  const rows: { name: string; error: unknown; driverLost?: boolean; isSeen: boolean }[] = [
    { name: 'a failed operation', error: new OperationError('no'), isSeen: true },
    {
      name: 'a refusal of the API server',
      error: thrownBy(() => rethrowAs('could not save')(apiError(500, 'InternalError', 'no'))),
      isSeen: true,
    },
    {
      name: 'an operation that a 429 of the API server has delayed',
      error: thrownBy(() => rethrowAs('could not save')(busy)),
      isSeen: false,
    },
    { name: 'a 429 of the API server', error: busy, isSeen: false },
    { name: 'a refusal of the driver', error: new RpcError(CODES.NotFound, 'gone'), isSeen: true },
    {
      name: 'a call during which the driver disconnected',
      error: new RpcError(CODES.Unavailable, 'lost'),
      driverLost: true,
      isSeen: false,
    },
    {
      name: 'an error of the API server while the driver is disconnected',
      error: new OperationError('no'),
      driverLost: true,
      isSeen: true,
    },
    { name: 'an unexpected error', error: new TypeError('x is not a function'), isSeen: true },
    { name: 'a thrown value that is not an Error', error: 'what', isSeen: true },
  ]
  it.each(rows)('users see $name: $isSeen', ({ error, driverLost = false, isSeen }) => {
    expect(concernsVolume(error, callFailure(error, { driverLost }))).toBe(isSeen)
  })

  it('an error of `rethrowAs` has the name of the operation before its message', () => {
    const error = thrownBy(() => rethrowAs('could not save')(apiError(500, 'InternalError', 'no')))
    expect(callFailure(error).message).toBe('could not save: no')
  })
})
