import { describe, expect, it } from '@jest/globals'
import type { Claim } from '../caches/claim.ts'
import type { Volume } from '../caches/volume.ts'
import { claim, refTo, reservedFor, volume } from '../testing/objects.ts'
import { findBestMatch, type MatchOptions, mismatch } from './match.ts'

const other = claim({ name: 'other' })

describe('findBestMatch', () => {
  const rows: {
    name: string
    claim?: Partial<Claim>
    volumes: Partial<Volume>[]
    options?: MatchOptions
    found: string | undefined
  }[] = [
    { name: 'takes an available volume that fits', volumes: [{ key: 'a' }], found: 'a' },
    { name: 'finds nothing among none', volumes: [], found: undefined },
    {
      name: 'takes the smallest that is large enough',
      volumes: [
        { key: 'a', capacity: '10Gi' },
        { key: 'b', capacity: '2Gi' },
        { key: 'c', capacity: '1023Mi' },
      ],
      found: 'b',
    },
    {
      name: 'compares sizes by their amount',
      volumes: [
        { key: 'a', capacity: '2G' },
        { key: 'b', capacity: '2000M' },
        { key: 'c', capacity: '1500Mi' },
      ],
      found: 'c',
    },
    {
      name: 'prefers the access modes asked for to more of them, whatever the size',
      volumes: [
        { key: 'a', accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] },
        { key: 'b', capacity: '5Gi' },
      ],
      found: 'b',
    },
    {
      name: 'takes one with more access modes than asked for',
      volumes: [{ key: 'a', accessModes: ['ReadWriteOnce', 'ReadWriteMany'] }],
      found: 'a',
    },
    { name: 'skips one that lacks an access mode', volumes: [{ accessModes: ['ReadOnlyMany'] }], found: undefined },
    { name: 'skips another class', volumes: [{ className: 'slow' }], found: undefined },
    {
      name: 'takes one without class for a claim of none',
      claim: { className: '' },
      volumes: [{ key: 'a', className: '' }],
      found: 'a',
    },
    { name: 'skips another volume mode', volumes: [{ volumeMode: 'Block' }], found: undefined },
    { name: 'skips another attributes class', volumes: [{ attributesClass: 'gold' }], found: undefined },
    { name: 'skips one that is being deleted', volumes: [{ deleting: true }], found: undefined },
    { name: 'skips one that is not available yet', volumes: [{ phase: 'Pending' }], found: undefined },
    { name: 'skips one that waits for its reclaim', volumes: [{ phase: 'Released' }], found: undefined },
    { name: 'skips one that is reserved for another claim', volumes: [{ claimRef: refTo(other) }], found: undefined },
    {
      name: 'takes labels that the selector asks for',
      claim: { selector: { matchLabels: { disk: 'ssd' } } },
      volumes: [{ key: 'a' }, { key: 'b', labels: { disk: 'ssd' } }],
      found: 'b',
    },
    {
      name: 'honours expressions of the selector',
      claim: { selector: { matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['a'] }] } },
      volumes: [
        { key: 'a', labels: { zone: 'a' } },
        { key: 'b', labels: { zone: 'b' } },
      ],
      found: 'b',
    },
    {
      name: 'takes the one reserved for it before any that fits better',
      volumes: [{ key: 'a' }, { key: 'b', capacity: '9Gi', claimRef: reservedFor(claim()) }],
      found: 'b',
    },
    {
      name: 'takes the one reserved for it in any phase and class',
      volumes: [{ key: 'a', phase: 'Pending', className: 'slow', claimRef: refTo(claim()) }],
      found: 'a',
    },
    {
      name: 'does not take one reserved for a claim of the same name that is gone',
      volumes: [{ claimRef: { ...refTo(claim()), uid: 'uid-of-old' } }],
      found: undefined,
    },
    {
      name: 'does not take one reserved for it that is too small',
      volumes: [{ capacity: '1Mi', claimRef: refTo(claim()) }],
      found: undefined,
    },
    {
      name: 'leaves the choice to the binder when the class waits',
      volumes: [{}],
      options: { delayed: true },
      found: undefined,
    },
    {
      name: 'takes one reserved for it though the class waits',
      volumes: [{ key: 'a', claimRef: refTo(claim()) }],
      options: { delayed: true },
      found: 'a',
    },
    {
      name: 'allows the binder what its node can reach',
      volumes: [
        { key: 'a', required: zone('a') },
        { key: 'b', required: zone('b') },
      ],
      options: { delayed: true, node: { name: 'node-1', labels: { zone: 'b' } } },
      found: 'b',
    },
    {
      name: "takes no other one when the reserved one is out of the node's reach",
      volumes: [{ key: 'a', required: zone('a'), claimRef: refTo(claim()) }, { key: 'b' }],
      options: { node: { name: 'node-1', labels: { zone: 'b' } } },
      found: undefined,
    },
    {
      name: 'skips what was promised to another claim of the pod',
      volumes: [{ key: 'a' }, { key: 'b', capacity: '2Gi' }],
      options: { taken: new Set(['a']) },
      found: 'b',
    },
  ]
  it.each(rows)('$name', (row) => {
    const found = findBestMatch(claim(row.claim), row.volumes.map(volume), row.options)
    expect(found?.key).toBe(row.found)
  })
})

function zone(name: string): Volume['required'] {
  return { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: [name] }] }] }
}

describe('mismatch', () => {
  const rows: [string, Partial<Volume>, string | undefined][] = [
    ['nothing', {}, undefined],
    ['deletion', { deleting: true }, 'the volume is marked for deletion "pv-1"'],
    ['size', { capacity: '1Mi' }, 'requested PV is too small'],
    ['class', { className: 'slow' }, 'storageClassName does not match'],
    ['attributes class', { attributesClass: 'gold' }, 'volumeAttributesClassName does not match'],
    ['volume mode', { volumeMode: 'Block' }, 'incompatible volumeMode'],
    ['access modes', { accessModes: ['ReadOnlyMany'] }, 'incompatible accessMode'],
  ]
  it.each(rows)('says what is wrong: %s', (_, change, text) => {
    expect(mismatch(claim(), volume(change))).toBe(text)
  })
})
