import { expect, test } from '@jest/globals'
import { FieldSet, pathText } from './field-set.ts'

const set = (...paths: readonly string[]): FieldSet => FieldSet.of(paths.map((path) => path.split(' ')))
const texts = (fields: FieldSet): string[] => [...fields.paths()].map((path) => path.join(' '))

test('a set reads back what it writes, a field and what is in it being two', () => {
  const fields = set('f:a', 'f:a f:b', 'f:c k:{"name":"x"}', 'f:c k:{"name":"x"} f:d', 'f:e f:f')
  const written = {
    'f:a': { '.': {}, 'f:b': {} },
    'f:c': { 'k:{"name":"x"}': { '.': {}, 'f:d': {} } },
    'f:e': { 'f:f': {} },
  }
  expect(fields.toFieldsV1()).toEqual(written)
  expect(texts(FieldSet.fromFieldsV1(written))).toEqual(texts(fields))
})

test.each<[how: 'union' | 'intersection' | 'difference', expected: readonly string[]]>([
  ['union', ['f:a', 'f:d', 'f:a f:b', 'f:a f:c']],
  ['intersection', ['f:a f:b']],
  ['difference', ['f:a']],
])('the %s of two sets', (how, expected) => {
  expect(texts(set('f:a', 'f:a f:b')[how](set('f:a f:b', 'f:a f:c', 'f:d')))).toEqual(expected)
})

test('without a field it has nothing of what is in it', () => {
  expect(texts(set('f:status f:a', 'f:spec', 'f:status').without([['f:status']]))).toEqual(['f:spec'])
})

test('a path is printed as messages have it', () => {
  expect(pathText(['f:spec', 'k:{"containerPort":80,"protocol":"TCP"}', 'f:name'])).toBe(
    '.spec[containerPort=80,protocol="TCP"].name',
  )
  expect(pathText(['f:metadata', 'f:finalizers', 'v:"a/b"'])).toBe('.metadata.finalizers[="a/b"]')
})
