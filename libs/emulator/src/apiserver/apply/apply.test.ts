import { expect, test } from '@jest/globals'
import { at, type KubeObject } from '../schema/json.ts'
import { CONFIG_MAP } from '../schema/kinds.ts'
import { appliedTo, tracked } from './apply.ts'

const by = (manager: string, now = '2026-01-01T00:00:00Z') => ({
  kind: CONFIG_MAP,
  manager,
  subresource: '',
  now,
  force: false,
})
const map = (data: Readonly<Record<string, string>>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a' },
  data,
})
const owners = (object: KubeObject): unknown =>
  (object.metadata['managedFields'] as KubeObject[]).map((entry) => [
    `${at(entry, 'manager')} ${at(entry, 'operation')} ${at(entry, 'time')}`,
    Object.keys(Object(at(entry, 'fieldsV1', 'f:data'))).join(' '),
  ])

test('a field that its manager no longer applies is removed, unless another manager owns it', () => {
  const first = appliedTo(undefined, map({ a: '1', b: '2', c: '3' }), by('one'))
  const both = appliedTo(first, map({ b: '2' }), by('two'))
  expect(appliedTo(both, map({ a: '1' }), by('one'))['data']).toEqual({ a: '1', b: '2' })
})

test('applying the same again changes nothing, not even the time', () => {
  const first = appliedTo(undefined, map({ a: '1' }), by('one'))
  expect(appliedTo(first, map({ a: '1' }), by('one', '2027-01-01T00:00:00Z'))).toEqual(first)
})

test('another value for a field of another manager is a conflict, unless it is forced', () => {
  const first = appliedTo(undefined, map({ a: '1' }), by('one'))
  const change = map({ a: '2' })
  expect(() => appliedTo(first, change, by('two'))).toThrow(
    'Apply failed with 1 conflict: conflict with "one": .data.a',
  )
  expect(owners(appliedTo(first, change, { ...by('two'), force: true }))).toEqual([
    ['two Apply 2026-01-01T00:00:00Z', 'f:a'],
  ])
})

test('an ordinary write owns what it changes; an object that was never applied has no managers', () => {
  const first = appliedTo(undefined, map({ a: '1', b: '2' }), by('one'))
  const written = { ...first, data: { a: '9', b: '2' } }
  expect(owners(tracked(first, written, by('editor', '2027-01-01T00:00:00Z')))).toEqual([
    ['one Apply 2026-01-01T00:00:00Z', 'f:b'],
    ['editor Update 2027-01-01T00:00:00Z', 'f:a'],
  ])
  const plain = map({ a: '1' })
  expect(tracked(plain, map({ a: '2' }), by('editor')).metadata['managedFields']).toBeUndefined()
})

test('a write without managedFields keeps the managers; one with an empty list removes them', () => {
  const first = appliedTo(undefined, map({ a: '1' }), by('one'))
  expect(owners(tracked(first, map({ a: '1' }), by('editor')))).toEqual(owners(first))
  const emptied = { ...first, metadata: { ...first.metadata, managedFields: [] } }
  expect(tracked(first, emptied, by('editor')).metadata['managedFields']).toBeUndefined()
})

test('with tracksCreation a new object belongs to its creator', () => {
  expect(owners(tracked(undefined, map({ a: '1' }), { ...by('maker'), creates: true }))).toEqual([
    ['maker Update 2026-01-01T00:00:00Z', '. f:a'],
  ])
})

const ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration'

test('kubectl takes over what it has applied on the client side, unless another writer has changed it since', () => {
  const said = map({ a: '1', b: '2' })
  const noted = { ...said, metadata: { ...said.metadata, annotations: { [ANNOTATION]: JSON.stringify(said) } } }
  const live = tracked(undefined, noted, { ...by('kubectl-client-side-apply'), creates: true })
  const change = map({ a: '<3>' })
  expect(() => appliedTo(live, change, by('other'))).toThrow(
    'conflict with "kubectl-client-side-apply" using v1: .data.a',
  )
  const after = appliedTo(live, change, by('kubectl'))
  expect(after['data']).toEqual({ a: '<3>', b: '2' })
  // As Go writes it.
  expect(after.metadata.annotations?.[ANNOTATION]).toBe(
    '{"apiVersion":"v1","data":{"a":"\\u003c3\\u003e"},"kind":"ConfigMap","metadata":{"name":"a"}}\n',
  )
  const edited = tracked(live, { ...live, data: { a: '9', b: '2' } }, by('editor'))
  expect(() => appliedTo(edited, change, by('kubectl'))).toThrow('conflict with "editor" using v1: .data.a')
})

test.each(['no JSON', '{"apiVersion":"v2"}', '[]'])('an annotation that says %s allows nothing', (text) => {
  const noted = { ...map({ a: '1' }), metadata: { name: 'a', annotations: { [ANNOTATION]: text } } }
  const live = tracked(undefined, noted, { ...by('one'), creates: true })
  expect(() => appliedTo(live, map({ a: '2' }), by('kubectl'))).toThrow('Apply failed with 1 conflict')
})
