import { expect, test } from '@jest/globals'
import { InvariantError, invariant, unreachable } from './invariant.ts'

test('an invariant that holds says nothing', () => {
  expect(() => invariant(1, 'never seen')).not.toThrow()
})

test('an invariant that does not hold throws its message', () => {
  expect(() => invariant(0, 'a key in two workers')).toThrow(new InvariantError('a key in two workers'))
})

test('data that the types do not allow for throws', () => {
  const bad = { kind: 'unheard of' } as unknown as never
  expect(() => unreachable(bad)).toThrow(new InvariantError('unexpected {"kind":"unheard of"}'))
})
