import { CODES, RpcError } from '@csi-sidecars/csi'
import { describe, expect, it } from '@jest/globals'
import { apiError } from '../testing/api-error.ts'
import { during, failureOf, OperationError, type OperationFailure } from './failure.ts'

const busy = apiError(429, 'TooManyRequests', 'later')
const thrownBy = (fail: () => never): unknown => {
  try {
    return fail()
  } catch (error) {
    return error
  }
}

describe('failureOf', () => {
  const recorded = { record: true, code: undefined, retryAfterMs: undefined }
  const rows: { name: string; error: unknown; lost?: boolean; is: Partial<OperationFailure> }[] = [
    { name: 'records a failed operation', error: new OperationError('no'), is: { ...recorded, message: 'no' } },
    {
      name: 'puts the name of the operation before a refusal of the API server',
      error: thrownBy(() => during('could not save')(apiError(500, 'InternalError', 'no'))),
      is: { ...recorded, message: 'could not save: no' },
    },
    {
      name: 'does not record a failed operation after a 429 of the API server',
      error: thrownBy(() => during('could not save')(busy)),
      is: { ...recorded, record: false },
    },
    { name: 'does not record a 429 of the API server', error: busy, is: { ...recorded, record: false } },
    {
      name: 'records a refusal of the driver with its code',
      error: new RpcError(CODES.NotFound, 'gone'),
      is: { ...recorded, code: 5, message: 'rpc error: code = NotFound desc = gone' },
    },
    {
      name: 'returns the pause that the driver asks for',
      error: new RpcError(CODES.Unavailable, 'busy', { retryAfterMs: 3_000 }),
      is: { ...recorded, code: 14, retryAfterMs: 3_000 },
    },
    {
      name: 'ignores the request of the driver to retry at once',
      error: new RpcError(CODES.Unavailable, 'busy', { retryAfterMs: 0 }),
      is: { ...recorded, code: 14 },
    },
    {
      name: 'does not record that the driver disconnected during a call',
      error: new RpcError(CODES.Unavailable, 'lost'),
      lost: true,
      is: { record: false, retryAfterMs: undefined },
    },
    {
      name: 'records an error of the API server while the driver is disconnected',
      error: new OperationError('no'),
      lost: true,
      is: { ...recorded, message: 'no' },
    },
    { name: 'records an unexpected error', error: new TypeError('x is not a function'), is: { ...recorded } },
    { name: 'records a thrown value that is not an Error', error: 'what', is: { ...recorded, message: 'what' } },
  ]
  it.each(rows)('`failureOf` $name', ({ error, lost = false, is }) => {
    expect(failureOf(error, lost)).toMatchObject(is)
  })
})
