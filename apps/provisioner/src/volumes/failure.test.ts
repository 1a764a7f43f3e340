import { describe, expect, it } from '@jest/globals'
import { deletionFailure, InUseError } from './failure.ts'

describe('deletionFailure', () => {
  it.each<[name: string, error: Error, driverLost: boolean, kind: string]>([
    ['an attached volume waits', new InUseError('no'), false, 'inUse'],
    ['an attached volume waits although the driver is disconnected', new InUseError('no'), true, 'inUse'],
    ['a refusal of the driver is a failure', new Error('no'), false, 'failed'],
    ['a failure without the driver says nothing about the volume', new Error('no'), true, 'driverLost'],
  ])('%s', (_, error, driverLost, kind) => {
    expect(deletionFailure(error, driverLost)).toEqual({ message: 'no', kind })
  })
})
