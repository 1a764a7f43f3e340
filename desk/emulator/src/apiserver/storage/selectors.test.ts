import { expect, test } from '@jest/globals'
import { EVENT, NODE, PERSISTENT_VOLUME, POD } from '../schema/kinds.ts'
import { fieldSelector, labelSelector } from './selectors.ts'

const LABELS = { a: '1', 'b.c/d': 'x', empty: '' }

test.each([
  ['', true],
  ['a', true],
  ['!a', false],
  ['! z', true],
  ['a=1', true],
  ['a = 1 , b.c/d == x', true],
  ['a!=1', false],
  ['z!=1', true],
  ['a in (1, 2)', true],
  ['a in (2),a', false],
  ['z notin (1)', true],
  ['a notin (1,2)', false],
  ['a>0', true],
  ['a<1', false],
  ['z>0', false],
  ['empty=', true],
])('the label selector %p returns %p', (selector, expected) => {
  expect(labelSelector(selector)(LABELS)).toBe(expected)
})

test.each([['=1'], ['a in 1'], ['a b'], ['a in (1'], ['-a']])('the label selector %p is refused', (selector) => {
  expect(() => labelSelector(selector)).toThrow('unable to parse requirement')
})

test('a field selector compares an absent text as empty, and an absent flag as false', () => {
  const node = { metadata: { name: 'n' }, spec: {} }
  expect(fieldSelector(NODE, 'spec.unschedulable=false').matches(node)).toBe(true)
  expect(fieldSelector(POD, 'spec.nodeName=').matches(node)).toBe(true)
  expect(fieldSelector(PERSISTENT_VOLUME, 'metadata.name!=n').matches(node)).toBe(false)
  expect(fieldSelector(EVENT, 'source=c').matches({ metadata: {}, source: { component: 'c' } })).toBe(true)
})

test('`fieldSelector` returns the name if the selector matches only one name', () => {
  expect(fieldSelector(PERSISTENT_VOLUME, 'metadata.name=a').name).toBe('a')
  expect(fieldSelector(PERSISTENT_VOLUME, 'metadata.name!=a').name).toBeUndefined()
})

test('the server refuses a field selector for a field that is not selectable', () => {
  expect(() => fieldSelector(PERSISTENT_VOLUME, 'spec.x=1')).toThrow('"spec.x" is not a known field selector')
  expect(() => fieldSelector(POD, 'spec.x=1')).toThrow('field label not supported: spec.x')
})
