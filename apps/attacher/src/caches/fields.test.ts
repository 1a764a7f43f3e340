import { describe, expect, it } from '@jest/globals'
import { seconds, text, textMap, texts } from './fields.ts'

const NEITHER = [undefined, null, 0, true, {}, [], 'a'] as const

describe('text', () => {
  it('`text` returns a text unchanged, and undefined for any other value', () => {
    expect(NEITHER.map(text)).toStrictEqual([...NEITHER.slice(0, -1).map(() => undefined), 'a'])
    expect(text('')).toBe('')
  })
})

describe('seconds', () => {
  it('`seconds` returns the seconds of a timestamp, and undefined for other values', () => {
    expect(seconds('2026-01-01T00:00:00Z')).toBe(1_767_225_600)
    expect(NEITHER.map(seconds)).toStrictEqual(NEITHER.map(() => undefined))
  })
})

describe('texts', () => {
  it('`texts` removes the values of a list that are not strings', () => {
    expect(NEITHER.map(texts)).toStrictEqual([undefined, undefined, undefined, undefined, undefined, [], undefined])
    expect(texts(['a', 1, null, ['b'], 'c'])).toStrictEqual(['a', 'c'])
  })

  it('`texts` returns the same list if all its values are texts', () => {
    const list = ['a', 'b']
    expect(texts(list)).toBe(list)
  })
})

describe('textMap', () => {
  it('`textMap` drops values of a map that are no texts, and replaces each null by an empty text', () => {
    expect(NEITHER.map(textMap)).toStrictEqual([undefined, undefined, undefined, undefined, {}, undefined, undefined])
    expect(textMap({ a: 'b', c: 1, d: null, e: {} })).toStrictEqual({ a: 'b', d: '' })
  })

  it('`textMap` returns the same map if all its values are texts', () => {
    const map = { a: 'b' }
    expect(textMap(map)).toBe(map)
  })
})
