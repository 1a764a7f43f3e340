import { FakeClock } from '@csi-sidecars/base/testing'
import { expect, it } from '@jest/globals'
import { SlowSet } from './slow-set.ts'

it('`SlowSet` keeps a key for the configured time', async () => {
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

it('`SlowSet` does not extend the time of a key that is added again', async () => {
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

it('`SlowSet` can remove a key before its time has passed', () => {
  const slow = new SlowSet(new FakeClock(), 1000)
  slow.add('a')
  slow.remove('a')
  expect(slow.leftMs('a')).toBeUndefined()
})

it('`SlowSet` uses no memory for expired keys', async () => {
  const clock = new FakeClock()
  const slow = new SlowSet(clock, 1000)
  for (let n = 0; n < 100; n += 1) slow.add(`old ${n}`)
  await clock.advance(500)
  slow.add('young')
  await clock.advance(500)
  expect(slow.size).toBe(1)
  expect(clock.pending).toBe(0)
})
