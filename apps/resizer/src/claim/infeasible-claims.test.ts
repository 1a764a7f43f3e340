import { FakeClock } from '@csi-sidecars/base/testing'
import { expect, it } from '@jest/globals'
import { InfeasibleClaims } from './infeasible-claims.ts'

it('`InfeasibleClaims` keeps a key for the configured time', async () => {
  const clock = new FakeClock()
  const claims = new InfeasibleClaims(clock, 1000)
  claims.add('a')
  expect(claims.expiresInMs('a')).toBe(1000)
  expect(claims.expiresInMs('b')).toBeUndefined()
  await clock.advance(999)
  expect(claims.expiresInMs('a')).toBe(1)
  await clock.advance(1)
  expect(claims.expiresInMs('a')).toBeUndefined()
})

it('`InfeasibleClaims` does not extend the time of a key that is added again', async () => {
  const clock = new FakeClock()
  const claims = new InfeasibleClaims(clock, 1000)
  claims.add('a')
  await clock.advance(600)
  claims.add('a')
  expect(claims.expiresInMs('a')).toBe(400)
  await clock.advance(400)
  claims.add('a')
  expect(claims.expiresInMs('a')).toBe(1000)
})

it('`InfeasibleClaims` can remove a key before its time has passed', () => {
  const claims = new InfeasibleClaims(new FakeClock(), 1000)
  claims.add('a')
  claims.remove('a')
  expect(claims.expiresInMs('a')).toBeUndefined()
})

it('`InfeasibleClaims` uses no memory for expired keys', async () => {
  const clock = new FakeClock()
  const claims = new InfeasibleClaims(clock, 1000)
  for (let n = 0; n < 100; n += 1) claims.add(`old ${n}`)
  await clock.advance(500)
  claims.add('young')
  await clock.advance(500)
  expect(claims.size).toBe(1)
  expect(clock.pending).toBe(0)
})
