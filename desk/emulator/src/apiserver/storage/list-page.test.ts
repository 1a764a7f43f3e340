import { expect, test } from '@jest/globals'
import { CONFIG_MAP } from '../schema/kinds.ts'
import { KindCollection } from './collection.ts'
import { listPage, scopeOf } from './list-page.ts'

function filled(...keys: readonly string[]): KindCollection {
  const collection = new KindCollection(CONFIG_MAP, 10, { changes: 100, bytes: 1_000_000 })
  keys.forEach((key, index) => {
    const [namespace = '', name = ''] = key.split('/')
    collection.upsert(key, { metadata: { name, namespace } }, 11 + index)
  })
  return collection
}

interface Asked {
  readonly namespace?: string
  readonly query?: string
  readonly revision?: number
}

function page(
  collection: KindCollection,
  { namespace, query = '', revision = 20 }: Asked,
): { keys: string[]; next: string | undefined; remainingItemCount: number | undefined } {
  const parameters = new URLSearchParams(query)
  const { entries, next, remainingItemCount } = listPage(collection, scopeOf(CONFIG_MAP, namespace, parameters), {
    revision,
    query: parameters,
  })
  return {
    keys: entries.map(({ object }) => `${object.metadata.namespace}/${object.metadata.name}`),
    next,
    remainingItemCount,
  }
}

test('the list of the namespace `a` contains no objects of the namespace `ab`', () => {
  const collection = filled('a/x', 'a-b/x', 'ab/x', 'a/y')
  expect(page(collection, { namespace: 'a' }).keys).toEqual(['a/x', 'a/y'])
  expect(page(collection, {}).keys).toEqual(['a-b/x', 'a/x', 'a/y', 'ab/x'])
})

test('all pages of a list show the objects at the revision of the first page', () => {
  const collection = filled('n/a', 'n/b', 'n/d')
  const first = page(collection, { query: 'limit=1', revision: 13 })
  expect(first).toMatchObject({ keys: ['n/a'], remainingItemCount: 2 })
  collection.remove('n/d', { metadata: { name: 'd', namespace: 'n' } }, 14)
  collection.upsert('n/c', { metadata: { name: 'c', namespace: 'n' } }, 15)
  collection.upsert('n/b', { metadata: { name: 'b', namespace: 'n', labels: { new: 'yes' } } }, 16)
  const rest = page(collection, { query: `limit=5&continue=${first.next}`, revision: 16 })
  expect(rest).toEqual({ keys: ['n/b', 'n/d'], next: undefined, remainingItemCount: undefined })
  expect(page(collection, { revision: 16 }).keys).toEqual(['n/a', 'n/b', 'n/c'])
})

test('the error for an expired continue token contains a new token', () => {
  const collection = filled('n/a', 'n/b')
  const { next } = page(collection, { query: 'limit=1', revision: 12 })
  collection.upsert('n/c', { metadata: { name: 'c', namespace: 'n' } }, 13)
  collection.compact(13)
  let fresh: unknown
  try {
    page(collection, { query: `continue=${next}`, revision: 13 })
  } catch (error) {
    fresh = Reflect.get(Object(Reflect.get(Object(error), 'metadata')), 'continue')
    expect(error).toMatchObject({ code: 410, reason: 'Expired' })
  }
  expect(page(collection, { query: `continue=${String(fresh)}`, revision: 13 }).keys).toEqual(['n/b', 'n/c'])
})

test('a field selector for a name selects the object of that name in each namespace', () => {
  const collection = filled('n/a', 'm/a')
  expect(page(collection, { namespace: 'n', query: 'fieldSelector=metadata.name%3Da' }).keys).toEqual(['n/a'])
  expect(page(collection, { namespace: 'n', query: 'fieldSelector=metadata.name%3Dz' }).keys).toEqual([])
  expect(page(collection, { query: 'fieldSelector=metadata.name%3Da' }).keys).toEqual(['m/a', 'n/a'])
})

test('a continue token that this server did not write is refused', () => {
  for (const token of ['x', Buffer.from('{"v":"other","rv":1,"start":"a"}').toString('base64url')]) {
    expect(() => page(filled(), { query: `continue=${token}` })).toThrow('continue key is not valid')
  }
})
