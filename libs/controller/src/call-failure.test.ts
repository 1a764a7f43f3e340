import { CODES, type CodeName, RpcError } from '@csi-sidecars/csi'
import { ApiError } from '@csi-sidecars/kube-client'
import { describe, expect, it } from '@jest/globals'
import { callFailure } from './call-failure.ts'

const rpc = (code: CodeName, options: ConstructorParameters<typeof RpcError>[2] = {}): RpcError =>
  new RpcError(CODES[code], 'no', options)
const busy = new ApiError({ code: 429, reason: 'TooManyRequests', message: 'later', retryAfterMs: 40_000 })

describe('callFailure', () => {
  it.each<[string, unknown, object]>([
    ['a final answer', rpc('Internal'), { isFinal: true, mayStillRun: false }],
    ['an answer that leaves the outcome open', rpc('DeadlineExceeded'), { isFinal: false, mayStillRun: true }],
    ['a final code without the driver', rpc('Internal', { origin: 'client' }), { isFinal: false, mayStillRun: true }],
    ['an error before the call', new Error('no'), { isFinal: false, mayStillRun: false, status: undefined }],
    [
      'a wrapped answer',
      new Error('no', { cause: rpc('Internal') }),
      { isFinal: false, mayStillRun: false, status: undefined },
    ],
    ['a request that can never succeed', rpc('OutOfRange'), { infeasible: { expand: true, modify: false } }],
    ['a volume in use', rpc('FailedPrecondition'), { isFinal: true, isInUse: true }],
    ['a thrown text', 'odd', { message: 'odd', isFinal: false, mayStillRun: false }],
  ])('the failure has the right meaning after %s', (_, thrown, expected) => {
    expect(callFailure(thrown)).toMatchObject(expected)
  })

  it('a code that is final for one call only is final if the driver sent it', () => {
    const options = { finalCodes: ['ResourceExhausted'] } as const
    expect(callFailure(rpc('ResourceExhausted')).isFinal).toBe(false)
    expect(callFailure(rpc('ResourceExhausted'), options)).toMatchObject({ isFinal: true, mayStillRun: false })
    expect(callFailure(rpc('ResourceExhausted', { origin: 'client' }), options).mayStillRun).toBe(true)
  })

  it.each<[string, unknown, number]>([
    ['the driver asks for it', rpc('Unavailable', { retryAfterMs: 3_000 }), 3_000],
    ['the driver asks to retry at once', rpc('Unavailable', { retryAfterMs: 0 }), 0],
    ['the driver asks for a negative pause', rpc('Unavailable', { retryAfterMs: -1 }), 0],
    ['no party asks for it', rpc('Unavailable'), 0],
    ['the API server asks for it', new Error('cannot read', { cause: busy }), 40_000],
    ['the error of the call is wrapped', new Error('no', { cause: rpc('Internal', { retryAfterMs: 5 }) }), 5],
  ])('the pause is right if %s', (_, thrown, pauseMs) => {
    expect(callFailure(thrown).pauseMs).toBe(pauseMs)
  })

  it('the failure contains whether the driver is disconnected', () => {
    expect(callFailure(rpc('Unavailable'), { driverLost: true }).driverLost).toBe(true)
    expect(callFailure(rpc('Unavailable')).driverLost).toBe(false)
  })
})
