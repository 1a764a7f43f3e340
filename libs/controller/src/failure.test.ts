import { CODES, RpcError } from '@csi-sidecars/csi'
import { ApiError } from '@csi-sidecars/kube-client'
import { silentLogger } from '@csi-sidecars/telemetry'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { DRIVER_REFUSALS } from '@csi-sidecars/waits'
import { describe, expect, it } from '@jest/globals'
import { failureLog, failureOf } from './failure.ts'

describe('failureLog', () => {
  const conflict = new ApiError({ code: 409, reason: 'Conflict', message: 'changed' })

  it.each<[name: string, error: unknown, level: number | 'error']>([
    ['a conflict', conflict, 3],
    ['a conflict inside another error', new Error('cannot save', { cause: conflict }), 3],
    ['a missing permission', new ApiError({ code: 403, reason: 'Forbidden', message: 'no' }), 'error'],
    ['a refusal of the driver', new RpcError(10, 'busy'), 'error'],
  ])('the line about %s has the right level', (_what, error, level) => {
    const log = recordingLogger()
    failureLog(error, log)?.error(error, 'Failed')
    expect(log.lines.map((line) => line.level)).toEqual([level])
  })

  it('a conflict is not logged if level 3 is off', () => {
    expect(failureLog(conflict, silentLogger)).toBeUndefined()
  })
})

describe('failureOf', () => {
  it('each code of gRPC is a reason, except OK', () => {
    expect(['OK', ...DRIVER_REFUSALS]).toEqual(Object.keys(CODES))
  })

  it('a code that gRPC does not know has the reason `Unknown`', () => {
    expect(failureOf(new RpcError(99, 'odd')).reason).toBe('Unknown')
  })
})
