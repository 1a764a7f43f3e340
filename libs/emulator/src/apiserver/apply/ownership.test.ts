import { expect, test } from '@jest/globals'
import type { Json } from '../schema/json.ts'
import { CONFIG_MAP, POD } from '../schema/kinds.ts'
import { schemaOf } from '../schema/schema.ts'
import { FieldSet } from './field-set.ts'
import { compare, fieldsOf, merged, withoutFields } from './ownership.ts'
import { structureOf } from './structure.ts'

const MAP = structureOf(schemaOf(CONFIG_MAP))
const PODS = structureOf(schemaOf(POD))
const withContainers = (names: string): Json => ({ spec: { containers: [...names].map((name) => ({ name })) } })
const namesOf = (pod: Json | undefined): string => {
  const { containers } = (pod as { spec: { containers: { name: string }[] } }).spec
  return containers.map(({ name }) => name).join('')
}

test.each([
  ['ab', 'ab', 'ab'],
  ['ab', 'ba', 'ba'],
  ['axb', 'ba', 'xba'],
  ['xb', 'nb', 'xnb'],
  ['abx', 'n', 'abxn'],
  ['', 'ab', 'ab'],
  ['xay', 'a', 'xay'],
])('of the live items %s and the applied ones %s come %s', (live, applied, expected) => {
  expect(namesOf(merged(PODS, withContainers(live), withContainers(applied)))).toBe(expected)
})

test('a field that a type names is owned through what is in it, keys and items also by themselves', () => {
  const fields = fieldsOf(MAP, { metadata: { labels: { a: 'b' }, finalizers: ['x/y'] }, data: { k: 'v' } })
  expect(fields.toFieldsV1()).toEqual({
    'f:metadata': { 'f:labels': { 'f:a': {} }, 'f:finalizers': { 'v:"x/y"': {} } },
    'f:data': { 'f:k': {} },
  })
  expect(fieldsOf(PODS, withContainers('a')).toFieldsV1()).toEqual({
    'f:spec': { 'f:containers': { 'k:{"name":"a"}': { '.': {}, 'f:name': {} } } },
  })
})

test('new, changed and removed fields are distinguished', () => {
  const { added, modified, removed } = compare(MAP, { data: { a: '1', b: '2' } }, { data: { a: '3', c: '4' } })
  expect([added, modified, removed].map((set) => set.toFieldsV1())).toEqual([
    { 'f:data': { 'f:c': {} } },
    { 'f:data': { 'f:a': {} } },
    { 'f:data': { 'f:b': {} } },
  ])
})

test('a part with no fields left is removed', () => {
  const fields = FieldSet.fromFieldsV1({ 'f:data': { 'f:a': {} } })
  expect(withoutFields(MAP, { data: { a: '1' }, metadata: { name: 'x' } }, fields)).toEqual({ metadata: { name: 'x' } })
  expect(withoutFields(MAP, { data: { a: '1', b: '2' } }, fields)).toEqual({ data: { b: '2' } })
})
