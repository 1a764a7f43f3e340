import { FakeClock } from '@csi-sidecars/base/testing'
import { expect, it } from '@jest/globals'
import { SlowSet } from './slow-set.ts'

it('keeps a key for its time', async () => {
  const clock = new FakeClock()
  const slow = new SlowSet(clock, 1000)
  slow.add('a')
  expect(slow.leftMs('a')).toBe(1000)
  expect(slow.leftMs('b')).toBeUndefined()
  await clock.advance(999)
  expect(slow.leftMs('a')).toBe(1)
  await clock.advance(1)
  expect(slow.leftMs('a')).toBeUndefined()
})

it('does not renew a present key, and adds an expired key again', async () => {
  const clock = new FakeClock()
  const slow = new SlowSet(clock, 1000)
  slow.add('a')
  await clock.advance(600)
  slow.add('a')
  expect(slow.leftMs('a')).toBe(400)
  await clock.advance(400)
  slow.add('a')
  expect(slow.leftMs('a')).toBe(1000)
})

it('removes a key', () => {
  const slow = new SlowSet(new FakeClock(), 1000)
  slow.add('a')
  slow.remove('a')
  expect(slow.leftMs('a')).toBeUndefined()
})

it('expired keys use no memory', async () => {
  const clock = new FakeClock()
  const slow = new SlowSet(clock, 1000)
  for (let n = 0; n < 100; n += 1) slow.add(`old ${n}`)
  await clock.advance(500)
  slow.add('young')
  await clock.advance(500)
  expect(slow.size).toBe(1)
  expect(clock.pending).toBe(0)
})
