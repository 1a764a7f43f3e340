import { describe, expect, it } from '@jest/globals'
import { matchesLabels, matchesNode } from './selectors.ts'

const LABELS = { disk: 'ssd', size: '10' }

describe('a label selector', () => {
  const rows: [string, Parameters<typeof matchesLabels>[0], boolean][] = [
    ['none', undefined, true],
    ['an empty one', {}, true],
    ['the label', { matchLabels: { disk: 'ssd' } }, true],
    ['another value', { matchLabels: { disk: 'hdd' } }, false],
    ['one of two', { matchLabels: { disk: 'ssd', zone: 'a' } }, false],
    ['In', { matchExpressions: [{ key: 'disk', operator: 'In', values: ['hdd', 'ssd'] }] }, true],
    ['In, without the label', { matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }, false],
    ['NotIn', { matchExpressions: [{ key: 'disk', operator: 'NotIn', values: ['ssd'] }] }, false],
    ['NotIn, without the label', { matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['a'] }] }, true],
    ['Exists', { matchExpressions: [{ key: 'zone', operator: 'Exists' }] }, false],
    ['DoesNotExist', { matchExpressions: [{ key: 'zone', operator: 'DoesNotExist' }] }, true],
    ['an unknown operator', { matchExpressions: [{ key: 'disk', operator: 'Like', values: ['s*'] }] }, false],
    [
      'labels and expressions, both asked for',
      { matchLabels: { disk: 'ssd' }, matchExpressions: [{ key: 'zone', operator: 'Exists' }] },
      false,
    ],
  ]
  it.each(rows)('evaluates a selector with %s', (_, selector, matches) => {
    expect(matchesLabels(selector, LABELS)).toBe(matches)
  })
})

describe('a node affinity', () => {
  const node = { name: 'node-1', labels: LABELS }
  const ssd = { key: 'disk', operator: 'In', values: ['ssd'] }
  const hdd = { key: 'disk', operator: 'In', values: ['hdd'] }
  const byName = (name: string) => ({ key: 'metadata.name', operator: 'In', values: [name] })
  const rows: [string, Parameters<typeof matchesNode>[0], boolean][] = [
    ['none', undefined, true],
    ['no term', { nodeSelectorTerms: [] }, false],
    ['a term that asks for nothing', { nodeSelectorTerms: [{}] }, false],
    ['one term of two', { nodeSelectorTerms: [{ matchExpressions: [hdd] }, { matchExpressions: [ssd] }] }, true],
    ['one half of a term', { nodeSelectorTerms: [{ matchExpressions: [ssd, hdd] }] }, false],
    ['its name', { nodeSelectorTerms: [{ matchFields: [byName('node-1')] }] }, true],
    ['another name', { nodeSelectorTerms: [{ matchExpressions: [ssd], matchFields: [byName('node-2')] }] }, false],
    ['Gt', { nodeSelectorTerms: [{ matchExpressions: [{ key: 'size', operator: 'Gt', values: ['9'] }] }] }, true],
    [
      'Gt of the same',
      { nodeSelectorTerms: [{ matchExpressions: [{ key: 'size', operator: 'Gt', values: ['10'] }] }] },
      false,
    ],
    ['Lt', { nodeSelectorTerms: [{ matchExpressions: [{ key: 'size', operator: 'Lt', values: ['9'] }] }] }, false],
  ]
  it.each(rows)('evaluates an affinity with %s', (_, required, matches) => {
    expect(matchesNode(required, node)).toBe(matches)
  })
})
