import { answered } from '@csi-sidecars/disturb/testing/proxied-calls'
import { describe, expect, it } from '@jest/globals'
import { wrongAnswer } from './answers.ts'
import { Tracker } from './tracker.ts'

const range = (requiredBytes: bigint, limitBytes = 0n) => ({ capacityRange: { requiredBytes, limitBytes } })

function made(capacityBytes: bigint, limit?: bigint): readonly string[] {
  const response = { volume: { volumeId: 'vol', capacityBytes, accessibleTopology: [], contentSource: undefined } }
  return answered('CreateVolume', { name: 'pvc', ...range(10n, limit) }, { response }).flatMap((call) =>
    wrongAnswer(call, new Tracker()).map(({ text }) => text),
  )
}

function grown(capacityBytes: bigint, code = 0): readonly string[] {
  const request = { volumeId: 'vol', ...range(10n) }
  return answered('ControllerExpandVolume', request, { code, response: { capacityBytes } }).flatMap((call) =>
    wrongAnswer(call, new Tracker()).map(({ text }) => text),
  )
}

describe('wrongAnswer', () => {
  it('the check of answers accepts a missing volume size, and a size from the required size to the limit', () => {
    expect([made(10n), made(11n), made(11n, 11n), made(0n), grown(10n), grown(0n)].flat()).toEqual([])
  })

  it('the check of answers reports a volume size that is less than required or more than the limit', () => {
    expect(made(9n)).toEqual(['CreateVolume of vol answered with 9 bytes where 10 were required'])
    expect(made(12n, 11n)).toEqual(['CreateVolume of vol answered with 12 bytes where 11 was the limit'])
    expect(grown(9n)).toEqual(['ControllerExpandVolume of vol answered with 9 bytes where 10 were required'])
  })

  it('the check of answers ignores the volume size if the call failed', () => {
    expect(grown(9n, 13)).toEqual([])
  })
})
