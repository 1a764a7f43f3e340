import { FakeClock } from '@csi-sidecars/base/testing'
import { expect, test } from '@jest/globals'
import { selfMadeSource } from './self-made.ts'

test('a certificate is renewed when half of its time is over', async () => {
  const clock = new FakeClock()
  const source = selfMadeSource(clock, 'host-1')
  const first = await source.read()
  await clock.advance(182 * 24 * 60 * 60 * 1000)
  expect(await source.read()).toEqual(first)
  await clock.advance(24 * 60 * 60 * 1000)
  const second = await source.read()
  expect(second[0]).not.toBe(first[0])
  expect(source.make(second)).toEqual({ cert: second[0], key: second[1] })
})
