import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from '@jest/globals'
import {
  errorChain,
  InvariantError,
  invariant,
  isError,
  messageOf,
  systemCodeOf,
  toError,
  unreachable,
} from './errors.ts'

/** Returns an error of Node. It belongs to another realm than the tests, so that `instanceof Error` is false. */
async function refused(): Promise<unknown> {
  const [error] = await once(connect({ path: '/nowhere/at/all.sock' }), 'error')
  return error
}

function ring(): Error {
  const outer = new Error('outer')
  outer.cause = new Error('inner', { cause: outer })
  return outer
}

describe('messageOf', () => {
  test.each([
    ['an error', new TypeError('not a function'), 'not a function'],
    ['text', 'as it is', 'as it is'],
    ['nothing', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a number', 42, '42'],
    ['an object', { code: 5, details: ['a'] }, "{ code: 5, details: [ 'a' ] }"],
    ['an object without a prototype', Object.create(null), '[Object: null prototype] {}'],
    ['several errors in one', new AggregateError([new Error('first'), new Error('second')]), 'first; second'],
    ['several errors in one that has a message', new AggregateError([new Error('first')], 'all failed'), 'all failed'],
    ['an error that says nothing', new Error(''), ''],
  ])('`messageOf` returns the message of %s', (_, thrown, expected) => {
    expect(messageOf(thrown)).toBe(expected)
  })

  test("`messageOf` returns the message of Node's own errors", async () => {
    expect(messageOf(await refused())).toBe('connect ENOENT /nowhere/at/all.sock')
  })
})

describe('errorChain', () => {
  const inner = new Error('inner')
  const outer = new Error('outer', { cause: inner })
  const odd = new Error('odd', { cause: 'text' })
  test.each([
    ['an error by itself', inner, [inner]],
    ['an error with a cause', outer, [outer, inner]],
    ['a cause that is no error', odd, [odd, 'text']],
    ['nothing', undefined, []],
  ])('`errorChain` returns the chain of causes of %s', (_, thrown, expected) => {
    expect([...errorChain(thrown)]).toEqual(expected)
  })

  test('`errorChain` ends even if the causes of an error form a ring', () => {
    expect([...errorChain(ring())].map(messageOf)).toEqual(['outer', 'inner'])
  })
})

describe('systemCodeOf', () => {
  const coded = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
  test.each([
    ['an error that has one', coded, 'ECONNREFUSED'],
    ['an error whose cause has one', new Error('request failed', { cause: coded }), 'ECONNREFUSED'],
    ['an error whose code is a number', Object.assign(new Error('rpc'), { code: 14 }), undefined],
    ['a plain object', { code: 'ECONNREFUSED' }, undefined],
    ['a ring', ring(), undefined],
  ])('`systemCodeOf` returns the code of %s', (_, thrown, expected) => {
    expect(systemCodeOf(thrown)).toBe(expected)
  })

  test("`systemCodeOf` returns the code of Node's own errors", async () => {
    expect(systemCodeOf(new Error('no driver', { cause: await refused() }))).toBe('ENOENT')
  })
})

describe('toError', () => {
  test('`toError` returns an error unchanged', async () => {
    const original = new Error('own')
    const foreign = await refused()
    expect(toError(original)).toBe(original)
    expect(toError(foreign)).toBe(foreign)
    expect(isError(foreign)).toBe(true)
  })

  test('`toError` wraps any other value in an error whose cause is the value', () => {
    const thrown = { code: 5 }
    expect(toError(thrown)).toMatchObject({ message: '{ code: 5 }', cause: thrown })
  })
})

test('`invariant` does nothing if its condition is true', () => {
  expect(() => invariant(1, 'never seen')).not.toThrow()
})

test('`invariant` throws an error with the given message if its condition is false', () => {
  expect(() => invariant(0, 'a key in two workers')).toThrow(new InvariantError('a key in two workers'))
})

test('`unreachable` throws an error that shows the unexpected value', () => {
  const bad = { kind: 'unheard of' } as unknown as never
  expect(() => unreachable(bad)).toThrow(new InvariantError('unexpected {"kind":"unheard of"}'))
})
