import { beforeEach, describe, expect, test } from '@jest/globals'
import type { Cached, InformerEvent } from './reader.ts'
import { StoreWriter } from './store.ts'

interface Thing extends Cached {
  readonly owner: string
}
const thing = (
  key: string,
  version: number | string,
  { uid = `uid-${key}`, owner = 'o' }: { uid?: string; owner?: string } = {},
): Thing => ({
  key,
  resourceVersion: `${version}`,
  uid,
  owner,
})

let writer: StoreWriter<Thing>
beforeEach(() => {
  writer = new StoreWriter({ owner: ({ owner }) => (owner === '' ? [] : owner.split(',')) })
})

/** Replaces the state by a complete list of the given version, and returns the events. */
function replace(version: number, ...things: Thing[]): InformerEvent<Thing>[] {
  const snapshot = writer.beginList()
  for (const each of things) snapshot.set(each)
  return [...writer.replace(snapshot, `${version}`)]
}
const inWords = (events: Iterable<InformerEvent<Thing>>): string[] =>
  [...events].map((event) =>
    event.type === 'updated'
      ? `${event.after.key} ${event.before.resourceVersion}->${event.after.resourceVersion} ${event.origin}`
      : `${event.type} ${event.object.key} ${event.object.resourceVersion}`,
  )
const versions = (): Record<string, string> =>
  Object.fromEntries([...writer.reader.values()].map(({ key, resourceVersion }) => [key, resourceVersion]))

describe('states', () => {
  test.each<[string, (number | string)[], string[]]>([
    ['adds an unknown object', [5], ['added a 5']],
    ['replaces an older state by a newer state', [5, 6], ['added a 5', 'a 5->6 change']],
    ['ignores an older state', [6, 5], ['added a 6']],
    ['ignores the state that it already has', [5, 5], ['added a 5']],
    ['compares versions as numbers, not as texts', [9, 10, 9], ['added a 9', 'a 9->10 change']],
    ['treats a later state as newer if versions are not numbers', ['x', 'y', 'y'], ['added a x', 'a x->y change']],
  ])('`upsert` of the store %s', (_, states, outcome) => {
    expect(inWords(states.flatMap((version) => writer.upsert(thing('a', version), 'watch')))).toEqual(outcome)
  })

  test('an older state from the watch never replaces the state of our own write in the store', () => {
    replace(5, thing('a', 5))
    const events = [
      ...writer.upsert(thing('a', 9), 'write'),
      ...writer.upsert(thing('a', 7), 'watch'),
      ...writer.upsert(thing('a', 9), 'watch'),
      ...writer.upsert(thing('a', 10), 'watch'),
    ]
    expect(inWords(events)).toEqual(['a 5->9 change', 'a 9->10 change'])
  })

  test('the store treats a state with another UID as another object', () => {
    writer.upsert(thing('a', 5, { uid: 'first' }), 'watch')
    expect(inWords(writer.upsert(thing('a', 8, { uid: 'second' }), 'watch'))).toEqual(['deleted a 5', 'added a 8'])
    expect(inWords(writer.upsert(thing('a', 6, { uid: 'first' }), 'watch'))).toEqual([])
  })
})

describe('a deletion', () => {
  test('the event of a deletion contains the last cached state of the object', () => {
    writer.upsert(thing('a', 5), 'watch')
    expect(inWords(writer.remove(thing('a', 6)))).toEqual(['deleted a 5'])
    expect(versions()).toEqual({})
  })

  test('the last state of a deletion is in its event only if it belongs to the removed object', () => {
    writer.upsert(thing('a', 5, { uid: 'first' }), 'watch')
    const second = thing('a', 9, { uid: 'second' })
    expect(writer.remove(second, second)).toEqual([expect.not.objectContaining({ last: expect.anything() })])
    writer.upsert(thing('b', 5), 'watch')
    expect(writer.remove(thing('b', 6), thing('b', 6))).toMatchObject([{ last: { resourceVersion: '6' } }])
  })

  test('the deletion of an object that the store does not have causes no event', () => {
    expect(inWords(writer.remove(thing('a', 6)))).toEqual([])
  })

  test('a deletion removes an object even if our own write of it is newer, but keeps a recreated object', () => {
    writer.upsert(thing('a', 9), 'write')
    expect(inWords(writer.remove(thing('a', 7)))).toEqual(['deleted a 9'])
    writer.upsert(thing('b', 9, { uid: 'second' }), 'watch')
    expect(inWords(writer.remove(thing('b', 7, { uid: 'first' })))).toEqual([])
  })

  test.each(['watch', 'write'] as const)('an older state from a %s cannot undo a deletion', (source) => {
    replace(5, thing('a', 5))
    writer.remove(thing('a', 8))
    writer.advanceTo('8')
    expect(inWords(writer.upsert(thing('a', 7), source))).toEqual([])
    expect(inWords(writer.upsert(thing('a', 12, { uid: 'second' }), source))).toEqual(['added a 12'])
  })

  test('a late answer to our own write does not restore an object that a newer list lacks', () => {
    replace(20)
    expect(inWords(writer.upsert(thing('a', 15), 'write'))).toEqual([])
    writer.advanceTo('30')
    expect(inWords(writer.upsert(thing('b', 25), 'write'))).toEqual([])
    expect(inWords(writer.upsert(thing('c', 31), 'write'))).toEqual(['added c 31'])
  })

  test('an object that the projection has rejected is stored again if the projection accepts a newer version', () => {
    writer.upsert(thing('a', 5), 'watch')
    writer.remove(thing('a', 6))
    expect(inWords(writer.upsert(thing('a', 7), 'watch'))).toEqual(['added a 7'])
  })

  test('the store remembers the newest of many deletions and forgets the oldest', () => {
    for (let at = 0; at < 5000; at += 1) writer.remove(thing(`gone-${at}`, 6))
    expect(inWords(writer.upsert(thing('gone-4999', 5), 'watch'))).toEqual([])
    expect(inWords(writer.upsert(thing('gone-0', 5), 'watch'))).toEqual(['added gone-0 5'])
  })
})

describe('a list', () => {
  test('a new list replaces the objects of the store, and reports the differences as events', () => {
    replace(5, thing('stays', 1), thing('changes', 2), thing('goes', 3), thing('is replaced', 4, { uid: 'first' }))
    const events = replace(
      9,
      thing('stays', 1),
      thing('changes', 7),
      thing('comes', 8),
      thing('is replaced', 9, { uid: 'second' }),
    )
    expect(inWords(events)).toEqual([
      'deleted goes 3',
      'deleted is replaced 4',
      'changes 2->7 change',
      'added comes 8',
      'added is replaced 9',
    ])
  })

  test('the store shows no object of a new list until the list is complete', () => {
    replace(5, thing('a', 1))
    const snapshot = writer.beginList()
    snapshot.set(thing('b', 6))
    expect(versions()).toEqual({ a: '1' })
    const events = writer.replace(snapshot, '9')
    expect(versions()).toEqual({ b: '6' })
    expect(inWords(events)).toEqual(['deleted a 1', 'added b 6'])
  })

  test('a list does not replace a newer state of an object that was read while the list was running', () => {
    replace(5, thing('a', 5))
    const snapshot = writer.beginList()
    expect(inWords(writer.upsert(thing('a', 12), 'read'))).toEqual(['a 5->12 change'])
    snapshot.set(thing('a', 7))
    expect(inWords(writer.replace(snapshot, '10'))).toEqual([])
    expect(versions()).toEqual({ a: '12' })
  })

  test('a list replaces the result of our own write unless the result is newer than the list', () => {
    replace(5, thing('a', 5), thing('b', 5), thing('gone', 5))
    const snapshot = writer.beginList()
    writer.upsert(thing('a', 12), 'write')
    writer.upsert(thing('b', 8), 'write')
    writer.upsert(thing('gone', 8), 'write')
    snapshot.set(thing('a', 7))
    snapshot.set(thing('b', 9))
    expect(inWords(writer.replace(snapshot, '10'))).toEqual(['deleted gone 8', 'b 8->9 change'])
    expect(versions()).toEqual({ a: '12', b: '9' })
  })

  test('a list does not restore an object that our own write deleted while the list was running', () => {
    replace(5, thing('a', 5), thing('b', 5), thing('c', 5))
    const snapshot = writer.beginList()
    writer.remove(thing('a', 6))
    writer.remove(thing('b', 6, { uid: 'first' }))
    writer.remove(thing('c', 6))
    snapshot.set(thing('a', 6))
    snapshot.set(thing('b', 6, { uid: 'second' }))
    snapshot.set(thing('c', 9))
    expect(inWords(writer.replace(snapshot, '10'))).toEqual(['added b 6', 'added c 9'])
    expect(versions()).toEqual({ b: '6', c: '9' })
  })

  test('after a restore of the server from a backup, a list brings deleted objects back', () => {
    replace(5, thing('a', 5))
    writer.beginList()
    writer.remove(thing('a', 6))
    expect(inWords(replace(5, thing('a', 5)))).toEqual(['added a 5'])
    writer.remove(thing('a', 6))
    expect(inWords(replace(5, thing('a', 5)))).toEqual(['added a 5'])
  })

  test('after a restore of the server from a backup, a list replaces newer states of objects', () => {
    replace(500, thing('a', 400), thing('b', 500))
    expect(inWords(replace(50, thing('a', 40)))).toEqual(['deleted b 500', 'a 400->40 change'])
    expect(inWords(writer.upsert(thing('a', 51), 'watch'))).toEqual(['a 40->51 change'])
  })

  test('the first list makes the store synced, and the store stays synced', async () => {
    const ready = writer.reader.whenSynced()
    expect(writer.reader.synced).toBe(false)
    replace(5)
    await ready
    expect(writer.reader.synced).toBe(true)
    writer.beginList()
    expect(writer.reader.synced).toBe(true)
  })

  test('`whenSynced` of the store rejects when its signal is aborted', async () => {
    const stop = new AbortController()
    const ready = writer.reader.whenSynced(stop.signal)
    stop.abort(new Error('enough'))
    await expect(ready).rejects.toThrow('enough')
  })
})

describe('an index', () => {
  const owned = (owner: string): string[] => writer.reader.byIndex('owner', owner).map(({ key }) => key)

  test('an index of the store finds objects by their current values', () => {
    replace(5, thing('a', 1, { owner: 'x' }), thing('b', 2, { owner: 'x,y' }), thing('c', 3, { owner: '' }))
    expect([owned('x'), owned('y'), owned('z')]).toEqual([['a', 'b'], ['b'], []])
    writer.upsert(thing('a', 6, { owner: 'y' }), 'watch')
    writer.remove(thing('b', 7))
    expect([owned('x'), owned('y')]).toEqual([[], ['a']])
    expect(writer.reader.byIndex('owner', 'y')).toEqual([thing('a', 6, { owner: 'y' })])
  })

  test('an index of the store returns an object once, even if the index function returns a value twice', () => {
    replace(5, thing('a', 1, { owner: 'x,x' }))
    expect(owned('x')).toEqual(['a'])
    writer.upsert(thing('a', 6, { owner: 'y' }), 'watch')
    expect(owned('x')).toEqual([])
  })

  test('the store throws for an unknown index', () => {
    expect(() => writer.reader.byIndex('color', 'red')).toThrow('there is no index "color"')
  })
})
