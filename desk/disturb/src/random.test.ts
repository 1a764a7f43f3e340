import { describe, expect, it } from '@jest/globals'
import { between, Occurrences, pick, seeded, weighted } from './random.ts'

const first = (length: number, random: () => number): number[] => Array.from({ length }, random)

describe('seeded', () => {
  it('a seeded generator gives the same numbers for the same seed and the same additional text', () => {
    expect(first(5, seeded(7, 'plan'))).toEqual(first(5, seeded(7, 'plan')))
  })

  it('a seeded generator gives other numbers if the seed or the additional text differs', () => {
    const starts = [seeded(7), seeded(8), seeded(7, 'plan 1'), seeded(7, 'plan 2')].map((random) => random())
    expect(new Set(starts).size).toBe(4)
  })

  it('the first numbers of seeded generators with similar additional texts are spread evenly', () => {
    const tenths = new Array<number>(10).fill(0)
    for (let nth = 0; nth < 10_000; nth += 1) {
      const tenth = Math.floor(seeded(1, `call ${nth}`)() * 10)
      tenths[tenth] = (tenths[tenth] ?? 0) + 1
    }
    for (const count of tenths) expect(Math.abs(count - 1000)).toBeLessThan(150)
  })
})

describe('random choices', () => {
  it('`between` can return both of its limits', () => {
    const random = seeded(1)
    expect(new Set(first(100, () => between(random, 2, 4)))).toEqual(new Set([2, 3, 4]))
  })

  it('`pick` returns undefined for an empty list', () => {
    expect(pick(seeded(1), [])).toBeUndefined()
  })

  it('`weighted` picks each choice by its weight, and never a choice of weight 0', () => {
    const random = seeded(1)
    const choices = [
      { weight: 3, make: () => 'often' },
      { weight: 0, make: () => 'never' },
      { weight: 1, make: () => 'seldom' },
    ]
    const made = Array.from({ length: 4000 }, () => weighted(random, choices))
    expect(made).not.toContain('never')
    expect(Math.abs(made.filter((each) => each === 'often').length - 3000)).toBeLessThan(150)
  })

  it('`weighted` picks the next choice if the picked choice produces nothing', () => {
    const choices = [
      { weight: 1000, make: () => undefined },
      { weight: 1, make: () => 'next' },
    ]
    expect(weighted(seeded(1), choices)).toBe('next')
    expect(weighted(seeded(1), choices.slice(0, 1))).toBeUndefined()
  })
})

it('the random numbers of an event do not depend on other events', () => {
  const alone = new Occurrences(3)
  const expected = [alone.next('a')(), alone.next('a')()]
  const mixed = new Occurrences(3)
  const one = mixed.next('a')()
  mixed.next('b')
  expect([one, mixed.next('a')()]).toEqual(expected)
  expect(expected[0]).not.toBe(expected[1])
})
