import { describe, expect, it } from '@jest/globals'
import { asSeconds, asText, asTextMap, asTexts } from './fields.ts'

const NEITHER = [undefined, null, 0, true, {}, [], 'a'] as const

describe('text', () => {
  it('the reader of string fields returns a string unchanged, and undefined for any other value', () => {
    expect(NEITHER.map(asText)).toStrictEqual([...NEITHER.slice(0, -1).map(() => undefined), 'a'])
    expect(asText('')).toBe('')
  })
})

describe('seconds', () => {
  it('the reader of timestamps returns seconds since 1970, and undefined for any other value', () => {
    expect(asSeconds('2026-01-01T00:00:00Z')).toBe(1_767_225_600)
    expect(NEITHER.map(asSeconds)).toStrictEqual(NEITHER.map(() => undefined))
  })
})

describe('texts', () => {
  it('the reader of string lists drops every value that is not a string', () => {
    expect(NEITHER.map(asTexts)).toStrictEqual([undefined, undefined, undefined, undefined, undefined, [], undefined])
    expect(asTexts(['a', 1, null, ['b'], 'c'])).toStrictEqual(['a', 'c'])
  })

  it('the reader of string lists returns the same list if it contains only strings', () => {
    const list = ['a', 'b']
    expect(asTexts(list)).toBe(list)
  })
})

describe('textMap', () => {
  it('the reader of string maps drops values that are not strings, and turns null into an empty string', () => {
    expect(NEITHER.map(asTextMap)).toStrictEqual([undefined, undefined, undefined, undefined, {}, undefined, undefined])
    expect(asTextMap({ a: 'b', c: 1, d: null, e: {} })).toStrictEqual({ a: 'b', d: '' })
  })

  it('the reader of string maps returns the same map if it contains only strings', () => {
    const map = { a: 'b' }
    expect(asTextMap(map)).toBe(map)
  })
})
