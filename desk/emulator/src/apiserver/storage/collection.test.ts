import { expect, test } from '@jest/globals'
import type { ApiObject } from '../schema/json.ts'
import { CONFIG_MAP } from '../schema/kinds.ts'
import { type HistoryLimits, KindCollection } from './collection.ts'

const object = (name: string, data = ''): ApiObject => ({ metadata: { name, namespace: 'n' }, data: { data } })

function collection(limits: Partial<HistoryLimits> = {}): KindCollection {
  return new KindCollection(CONFIG_MAP, 10, { changes: 100, bytes: 1_000_000, ...limits })
}

test('the keys of a collection stay sorted after insertions and deletions', () => {
  const it = collection()
  for (const name of ['c', 'a', 'd', 'b']) it.upsert(`n/${name}`, object(name), 11)
  it.remove('n/c', object('c'), 12)
  expect([...it.keysAfter('')]).toEqual(['n/a', 'n/b', 'n/d'])
  expect([...it.keysAfter('n/a')]).toEqual(['n/b', 'n/d'])
  expect([...it.keysAfter('n/bb')]).toEqual(['n/d'])
})

test('a stored object is frozen and contains its revision, and its JSON omits the kind', () => {
  const entry = collection().upsert('n/a', { apiVersion: 'v1', kind: 'ConfigMap', ...object('a') }, 11)
  expect(entry.object.metadata.resourceVersion).toBe('11')
  expect(Object.isFrozen(entry.object['data'])).toBe(true)
  expect(entry.text).toBe('{"metadata":{"name":"a","namespace":"n","resourceVersion":"11"},"data":{"data":""}}')
})

test('`since` returns the changes after a revision, each with the previous version of its object', () => {
  const it = collection()
  it.upsert('n/a', object('a', '1'), 11)
  it.upsert('n/a', object('a', '2'), 13)
  it.remove('n/a', object('a', '2'), 15)
  const changes = it.since(11).map(({ type, revision, before }) => [type, revision, before?.revision])
  expect(changes).toEqual([
    ['MODIFIED', 13, 11],
    ['DELETED', 15, 13],
  ])
  expect(it.since(15)).toEqual([])
})

test('`differencesAt` returns the old state of each object that has changed since a revision', () => {
  const it = collection()
  it.upsert('n/a', object('a', '1'), 11)
  it.upsert('n/a', object('a', '2'), 12)
  it.upsert('n/b', object('b'), 13)
  const then = it.differencesAt(11)
  expect([...then.keys()]).toEqual(['n/a', 'n/b'])
  expect(then.get('n/a')?.revision).toBe(11)
  expect(then.get('n/b')).toBeUndefined()
})

test.each<[string, Partial<HistoryLimits>]>([
  ['count', { changes: 3 }],
  ['size', { bytes: 250 }],
])('the history has a limit of its %s, and `since` refuses older revisions', (_what, limits) => {
  const it = collection(limits)
  for (let revision = 11; revision <= 200; revision += 1) it.upsert('n/a', object('a'), revision)
  expect(it.since(199)).toHaveLength(1)
  expect(it.compactedRevision).toBeGreaterThanOrEqual(196)
  expect(() => it.since(190)).toThrow('too old resource version: 190')
})

test('compaction drops the changes up to a revision and keeps later changes', () => {
  const it = collection()
  for (const revision of [11, 12, 13]) it.upsert('n/a', object('a'), revision)
  it.compact(12)
  expect(() => it.since(11)).toThrow('too old')
  expect(it.since(12)).toHaveLength(1)
})
