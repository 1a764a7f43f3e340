import { describe, expect, it } from '@jest/globals'
import { Interner } from './projector.ts'

describe('an interner', () => {
  const interner = new Interner()

  it('an interner returns a value that equals its argument, but undefined for null', () => {
    expect(interner.text('a')).toBe('a')
    expect(interner.list(['a', 'b'])).toEqual(['a', 'b'])
    expect(interner.map({ a: 'b' })).toEqual({ a: 'b' })
    for (const nothing of [undefined, null]) {
      expect([interner.text(nothing), interner.list(nothing), interner.map(nothing)]).toEqual(Array(3).fill(undefined))
    }
  })

  it('an interner returns one list for equal lists, and one map for equal maps', () => {
    expect(interner.list(['a', 'b'])).toBe(interner.list(['a', 'b']))
    expect(interner.map({ a: 'b', c: 'd' })).toBe(interner.map({ a: 'b', c: 'd' }))
  })

  it('an interner returns a copy of a list, because the caller may change the list', () => {
    const list = ['own']
    expect(interner.list(list)).not.toBe(list)
  })

  it('an interner does not confuse lists or maps whose texts contain quotes and commas', () => {
    expect(interner.list(['a","b'])).toEqual(['a","b'])
    expect(interner.list(['a', 'b'])).toEqual(['a', 'b'])
    expect(interner.map({ a: '1', b: '2' })).toEqual({ a: '1', b: '2' })
    expect(interner.map({ 'a":"1","b': '2' })).toEqual({ 'a":"1","b': '2' })
  })

  it('an interner still returns equal lists and maps when its tables are full', () => {
    const many = Array.from({ length: 2000 }, (_, i) => String(i))
    expect(many.map((each) => interner.list([each])?.[0])).toEqual(many)
    expect(many.map((each) => interner.map({ [each]: each })?.[each])).toEqual(many)
    expect(interner.list(['1999'])).not.toBe(interner.list(['1999']))
  })
})
