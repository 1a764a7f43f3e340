import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import { PreferenceLine } from './preference-line.ts'

function filled(keys: readonly string[]): PreferenceLine {
  const line = new PreferenceLine()
  for (const key of keys) line.push(key)
  return line
}

function drain(line: PreferenceLine): readonly string[] {
  const taken: string[] = []
  for (let key = line.take(); key !== undefined; key = line.take()) taken.push(key)
  return taken
}

it('keys leave in the order in which they came', () => {
  const line = filled(['a', 'b', 'c'])
  expect(line.length).toBe(3)
  expect(drain(line)).toEqual(['a', 'b', 'c'])
  expect(line.length).toBe(0)
})

it('what is preferred comes next, in the order in which it was preferred', () => {
  const line = filled(['a', 'b', 'c', 'd'])
  line.prefer('d')
  line.prefer('b')
  line.prefer('d')
  expect(line.length).toBe(4)
  expect(drain(line)).toEqual(['d', 'b', 'a', 'c'])
})

it('a key that does not wait is not preferred later either', () => {
  const line = filled(['a'])
  line.prefer('b')
  line.push('b')
  expect(drain(line)).toEqual(['a', 'b'])
})

it('a key that was preferred and comes again stands at its new place only', () => {
  const line = filled(['a', 'b'])
  line.prefer('b')
  expect(line.take()).toBe('b')
  line.push('c')
  line.push('b')
  expect(line.length).toBe(3)
  expect(drain(line)).toEqual(['a', 'c', 'b'])
})

it('whatever happens, every key that was pushed is taken once', () => {
  const step = fc.record({ do: fc.constantFrom('push', 'prefer', 'take'), key: fc.constantFrom('a', 'b', 'c', 'd') })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const line = new PreferenceLine()
      const waiting = new Set<string>()
      for (const { do: what, key } of steps) {
        if (what === 'prefer') line.prefer(key)
        if (what === 'push' && !waiting.has(key)) {
          waiting.add(key)
          line.push(key)
        }
        if (what === 'take') {
          const taken = line.take()
          expect(taken === undefined ? waiting.size === 0 : waiting.delete(taken)).toBe(true)
        }
        expect(line.length).toBe(waiting.size)
      }
    }),
  )
})
