import { describe, expect, it } from '@jest/globals'
import { matchesLabels, matchesNode } from './selectors.ts'

const LABELS = { disk: 'ssd', size: '10' }

describe('matchesLabels', () => {
  const rows: [string, Parameters<typeof matchesLabels>[0], boolean][] = [
    ['no selector', undefined, true],
    ['an empty selector', {}, true],
    ['a label of the object', { matchLabels: { disk: 'ssd' } }, true],
    ['another value of a label', { matchLabels: { disk: 'hdd' } }, false],
    ['a missing label', { matchLabels: { disk: 'ssd', zone: 'a' } }, false],
    ['In', { matchExpressions: [{ key: 'disk', operator: 'In', values: ['hdd', 'ssd'] }] }, true],
    ['In, without the label', { matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }, false],
    ['NotIn', { matchExpressions: [{ key: 'disk', operator: 'NotIn', values: ['ssd'] }] }, false],
    ['NotIn, without the label', { matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['a'] }] }, true],
    ['Exists', { matchExpressions: [{ key: 'zone', operator: 'Exists' }] }, false],
    ['DoesNotExist', { matchExpressions: [{ key: 'zone', operator: 'DoesNotExist' }] }, true],
    ['an unknown operator', { matchExpressions: [{ key: 'disk', operator: 'Like', values: ['s*'] }] }, false],
    [
      'a matching label and a wrong expression',
      { matchLabels: { disk: 'ssd' }, matchExpressions: [{ key: 'zone', operator: 'Exists' }] },
      false,
    ],
  ]
  it.each(rows)('the check of a label selector evaluates %s', (_, selector, matches) => {
    expect(matchesLabels(selector, LABELS)).toBe(matches)
  })
})

describe('matchesNode', () => {
  const node = { name: 'node-1', labels: LABELS }
  const ssd = { key: 'disk', operator: 'In', values: ['ssd'] }
  const hdd = { key: 'disk', operator: 'In', values: ['hdd'] }
  const byName = (name: string) => ({ key: 'metadata.name', operator: 'In', values: [name] })
  const rows: [string, Parameters<typeof matchesNode>[0], boolean][] = [
    ['no affinity', undefined, true],
    ['no term', { nodeSelectorTerms: [] }, false],
    ['an empty term', { nodeSelectorTerms: [{}] }, false],
    ['one matching term', { nodeSelectorTerms: [{ matchExpressions: [hdd] }, { matchExpressions: [ssd] }] }, true],
    ['a term that matches in part', { nodeSelectorTerms: [{ matchExpressions: [ssd, hdd] }] }, false],
    ['the node name', { nodeSelectorTerms: [{ matchFields: [byName('node-1')] }] }, true],
    ['another node name', { nodeSelectorTerms: [{ matchExpressions: [ssd], matchFields: [byName('node-2')] }] }, false],
    ['Gt', { nodeSelectorTerms: [{ matchExpressions: [{ key: 'size', operator: 'Gt', values: ['9'] }] }] }, true],
    [
      'Gt with an equal value',
      { nodeSelectorTerms: [{ matchExpressions: [{ key: 'size', operator: 'Gt', values: ['10'] }] }] },
      false,
    ],
    ['Lt', { nodeSelectorTerms: [{ matchExpressions: [{ key: 'size', operator: 'Lt', values: ['9'] }] }] }, false],
  ]
  it.each(rows)('the check of a node affinity evaluates %s', (_, required, matches) => {
    expect(matchesNode(required, node)).toBe(matches)
  })
})
