import { FakeClock } from '@csi-sidecars/base/testing'
import { describe, expect, it } from '@jest/globals'
import { ModifyMemory } from './memory.ts'

const RETENTION_MS = 60_000
const CLAIM = { key: 'ns/data', uid: 'uid-data' }
const OTHER = { key: 'ns/other', uid: 'uid-other' }

describe('ModifyMemory', () => {
  it('a claim that is gone is forgotten, so that a new claim of the name has no history, and other claims are kept', () => {
    const memory = new ModifyMemory(new FakeClock(), RETENTION_MS)
    for (const { key, uid } of [CLAIM, OTHER]) {
      memory.uncertain.add(key)
      memory.infeasibleClaims.add(key)
      memory.foreignClasses.record(uid, 'class-uid')
    }
    memory.forget(CLAIM)
    const left = [CLAIM, OTHER].map(({ key, uid }) => [
      memory.uncertain.has(key),
      memory.infeasibleClaims.expiresInMs(key),
      !memory.foreignClasses.isDue(uid, 'class-uid'),
    ])
    expect(left).toEqual([
      [false, undefined, false],
      [true, RETENTION_MS, true],
    ])
  })
})
