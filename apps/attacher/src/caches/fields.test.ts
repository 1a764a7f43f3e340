import { describe, expect, it } from '@jest/globals'
import { seconds, text, textMap, texts } from './fields.ts'

const NEITHER = [undefined, null, 0, true, {}, [], 'a'] as const

describe('text', () => {
  it('is text, and nothing else', () => {
    expect(NEITHER.map(text)).toStrictEqual([...NEITHER.slice(0, -1).map(() => undefined), 'a'])
    expect(text('')).toBe('')
  })
})

describe('seconds', () => {
  it('are those of a timestamp, and of nothing else', () => {
    expect(seconds('2026-01-01T00:00:00Z')).toBe(1_767_225_600)
    expect(NEITHER.map(seconds)).toStrictEqual(NEITHER.map(() => undefined))
  })
})

describe('texts', () => {
  it('are a list, without what is no text', () => {
    expect(NEITHER.map(texts)).toStrictEqual([undefined, undefined, undefined, undefined, undefined, [], undefined])
    expect(texts(['a', 1, null, ['b'], 'c'])).toStrictEqual(['a', 'c'])
  })

  it('are the same list where it needs no change', () => {
    const list = ['a', 'b']
    expect(texts(list)).toBe(list)
  })
})

describe('textMap', () => {
  it('is a map, without what is no text, and with empty texts for nulls', () => {
    expect(NEITHER.map(textMap)).toStrictEqual([undefined, undefined, undefined, undefined, {}, undefined, undefined])
    expect(textMap({ a: 'b', c: 1, d: null, e: {} })).toStrictEqual({ a: 'b', d: '' })
  })

  it('is the same map where it needs no change', () => {
    const map = { a: 'b' }
    expect(textMap(map)).toBe(map)
  })
})
