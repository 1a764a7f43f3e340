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
    { name: 'a step that cannot be taken', error: new OperationError('no'), is: { ...recorded, message: 'no' } },
    {
      name: 'a refusal of the API server, in front of it what was being done',
      error: thrownBy(() => during('could not save')(apiError(500, 'InternalError', 'no'))),
      is: { ...recorded, message: 'could not save: no' },
    },
    {
      name: 'an API server that asks to retry later',
      error: thrownBy(() => during('could not save')(busy)),
      is: { ...recorded, record: false },
    },
    { name: 'the same without the name of what was being done', error: busy, is: { ...recorded, record: false } },
    {
      name: 'a refusal of the driver, with its code',
      error: new RpcError(CODES.NotFound, 'gone'),
      is: { ...recorded, code: 5, message: 'rpc error: code = NotFound desc = gone' },
    },
    {
      name: 'a driver that says when to come back',
      error: new RpcError(CODES.Unavailable, 'busy', { retryAfterMs: 3_000 }),
      is: { ...recorded, code: 14, retryAfterMs: 3_000 },
    },
    {
      name: 'a driver that says to come back at once, which it does not get',
      error: new RpcError(CODES.Unavailable, 'busy', { retryAfterMs: 0 }),
      is: { ...recorded, code: 14 },
    },
    {
      name: 'a driver that disconnected during a call, which is awaited and not recorded',
      error: new RpcError(CODES.Unavailable, 'lost'),
      lost: true,
      is: { record: false, retryAfterMs: undefined },
    },
    {
      name: 'a trouble with the API while the driver is away',
      error: new OperationError('no'),
      lost: true,
      is: { ...recorded, message: 'no' },
    },
    { name: 'a mistake of our own', error: new TypeError('x is not a function'), is: { ...recorded } },
    { name: 'something that is no error', error: 'what', is: { ...recorded, message: 'what' } },
  ]
  it.each(rows)('$name', ({ error, lost = false, is }) => {
    expect(failureOf(error, lost)).toMatchObject(is)
  })
})
