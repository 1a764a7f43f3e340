import { FakeClock } from '@csi-sidecars/base/testing'
import { describe, expect, it } from '@jest/globals'
import { ResizeMemory } from './memory.ts'

const RETENTION_MS = 60_000
const CLAIM = { key: 'ns/data', uid: 'uid-data' }
const OTHER = { key: 'ns/other', uid: 'uid-other' }

describe('ResizeMemory', () => {
  it('a claim that is gone is forgotten, so that a new claim of the name has no history, and other claims are kept', () => {
    const memory = new ResizeMemory(new FakeClock(), RETENTION_MS)
    for (const { key, uid } of [CLAIM, OTHER]) {
      memory.finallyFailed.add(key)
      memory.infeasibleClaims.add(key)
      memory.refusalEvents.record(uid, 'in use')
    }
    memory.forget(CLAIM)
    const left = [CLAIM, OTHER].map(({ key, uid }) => [
      memory.finallyFailed.has(key),
      memory.infeasibleClaims.expiresInMs(key),
      !memory.refusalEvents.isDue(uid, 'in use'),
    ])
    expect(left).toEqual([
      [false, undefined, false],
      [true, RETENTION_MS, true],
    ])
  })
})
