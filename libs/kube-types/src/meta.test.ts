import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import { compareResourceVersions } from './meta.ts'

it.each<[a: string, b: string, order: number]>([
  ['9', '10', -1],
  ['10', '10', 0],
  ['18446744073709551617', '18446744073709551616', 1],
  ['9'.repeat(40), `1${'0'.repeat(40)}`, -1],
  ['0', '1', -1],
  ['', '0', -1],
  ['abc', '0', -1],
  ['abc', '', 0],
  ['007', '1', -1],
  ['-5', '1', -1],
])('`compareResourceVersions` orders %j and %j as %d', (a, b, order) => {
  expect(Math.sign(compareResourceVersions(a, b))).toBe(order)
  expect(Math.sign(compareResourceVersions(b, a)) + order).toBe(0)
})

it('`compareResourceVersions` compares versions as whole numbers of any length', () => {
  const number = fc.bigInt({ min: 0n, max: 2n ** 80n })
  fc.assert(
    fc.property(number, number, (a, b) => {
      const unequal = a < b ? -1 : 1
      const order = a === b ? 0 : unequal
      expect(Math.sign(compareResourceVersions(`${a}`, `${b}`))).toBe(order)
    }),
  )
})
