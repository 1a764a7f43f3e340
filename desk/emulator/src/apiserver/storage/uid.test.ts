import { FakeClock } from '@csi-sidecars/base/testing'
import { expect, test } from '@jest/globals'
import { nameSuffix, newUid } from './uid.ts'

test('UIDs are version 4, and differ even if all random numbers are the same', () => {
  const clock = new FakeClock()
  const uids = [1, 2, 3].map((serial) => newUid(clock, serial))
  for (const uid of uids) expect(uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(new Set(uids).size).toBe(3)
})

test('suffixes of generated names differ even if all random numbers are the same', () => {
  const clock = new FakeClock()
  const suffixes = Array.from({ length: 100 }, (_, serial) => nameSuffix(clock, serial))
  expect(new Set(suffixes).size).toBe(100)
  expect(suffixes.every((suffix) => /^[b-df-hj-np-tv-xz2-9]{5}$/.test(suffix))).toBe(true)
})
