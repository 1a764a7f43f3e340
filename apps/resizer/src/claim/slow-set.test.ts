import { FakeClock } from '@csi-sidecars/base/testing'
import { expect, it } from '@jest/globals'
import { SlowSet } from './slow-set.ts'

it('a key is in for its time', async () => {
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

it('a key that is in is not renewed, one that was in is', async () => {
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

it('a key can be taken out', () => {
  const slow = new SlowSet(new FakeClock(), 1000)
  slow.add('a')
  slow.remove('a')
  expect(slow.leftMs('a')).toBeUndefined()
})

it('what is over takes no room', async () => {
  const clock = new FakeClock()
  const slow = new SlowSet(clock, 1000)
  for (let n = 0; n < 100; n += 1) slow.add(`old ${n}`)
  await clock.advance(500)
  slow.add('young')
  await clock.advance(500)
  expect(slow.size).toBe(1)
  expect(clock.pending).toBe(0)
})
