import { describe, expect, it } from '@jest/globals'
import { Sightings } from './sightings.ts'

function listed(sightings: Sightings<string>, ids: readonly string[], now = 0): void {
  const listing = sightings.begin(now)
  for (const id of ids) listing.add(id, id)
  listing.end()
}
const confirmedIds = (sightings: Sightings<string>): readonly string[] =>
  [...sightings.seenTwice()].map(({ thing }) => thing)

describe('Sightings', () => {
  it('a thing is confirmed by the second of two consecutive listings, with the time of the first', () => {
    const sightings = new Sightings<string>(10)
    listed(sightings, ['a', 'b'], 1000)
    expect(confirmedIds(sightings)).toEqual([])
    listed(sightings, ['b', 'c'], 2000)
    expect([...sightings.seenTwice()]).toEqual([{ thing: 'b', firstListing: 1, since: 1000 }])
  })

  it('a thing that one listing has missed starts again', () => {
    const sightings = new Sightings<string>(10)
    listed(sightings, ['a'])
    listed(sightings, [])
    listed(sightings, ['a'], 3000)
    expect(confirmedIds(sightings)).toEqual([])
    listed(sightings, ['a'], 4000)
    expect([...sightings.seenTwice()]).toEqual([{ thing: 'a', firstListing: 3, since: 3000 }])
  })

  it('a listing that did not end has no effect', () => {
    const sightings = new Sightings<string>(10)
    listed(sightings, ['a'])
    sightings.begin(0).add('a', 'a')
    expect(confirmedIds(sightings)).toEqual([])
  })

  it('a thing that is removed during the listing is not in it', () => {
    const sightings = new Sightings<string>(10)
    listed(sightings, ['a', 'b'])
    const listing = sightings.begin(0)
    listing.add('a', 'a')
    listing.add('b', 'b')
    listing.remove('a')
    listing.end()
    expect(confirmedIds(sightings)).toEqual(['b'])
  })

  it('at most the given number of things is remembered, and known things keep their place', () => {
    const sightings = new Sightings<string>(2)
    listed(sightings, ['a', 'b', 'c'])
    expect(sightings.omitted).toBe(1)
    listed(sightings, ['x', 'y', 'a', 'b'])
    expect([confirmedIds(sightings), sightings.omitted]).toEqual([['a', 'b'], 2])
  })

  it('an entry that the listing repeats counts once', () => {
    const sightings = new Sightings<string>(2)
    listed(sightings, ['a', 'a', 'b'])
    listed(sightings, ['a', 'a', 'b'])
    expect([confirmedIds(sightings), sightings.omitted]).toEqual([['a', 'b'], 0])
  })
})
