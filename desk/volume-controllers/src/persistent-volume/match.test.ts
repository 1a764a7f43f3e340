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
    { name: 'returns undefined if there are no volumes', volumes: [], found: undefined },
    {
      name: 'takes the smallest volume that is large enough',
      volumes: [
        { key: 'a', capacity: '10Gi' },
        { key: 'b', capacity: '2Gi' },
        { key: 'c', capacity: '1023Mi' },
      ],
      found: 'b',
    },
    {
      name: 'compares sizes by their value, not by their spelling',
      volumes: [
        { key: 'a', capacity: '2G' },
        { key: 'b', capacity: '2000M' },
        { key: 'c', capacity: '1500Mi' },
      ],
      found: 'c',
    },
    {
      name: 'prefers a volume without additional access modes, even if it is larger',
      volumes: [
        { key: 'a', accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] },
        { key: 'b', capacity: '5Gi' },
      ],
      found: 'b',
    },
    {
      name: 'takes a volume with additional access modes',
      volumes: [{ key: 'a', accessModes: ['ReadWriteOnce', 'ReadWriteMany'] }],
      found: 'a',
    },
    { name: 'skips a volume without the access mode', volumes: [{ accessModes: ['ReadOnlyMany'] }], found: undefined },
    { name: 'skips a volume of another class', volumes: [{ className: 'slow' }], found: undefined },
    {
      name: 'takes a volume without a class for a claim without a class',
      claim: { className: '' },
      volumes: [{ key: 'a', className: '' }],
      found: 'a',
    },
    { name: 'skips a volume with another volume mode', volumes: [{ volumeMode: 'Block' }], found: undefined },
    { name: 'skips a volume of another attributes class', volumes: [{ attributesClass: 'gold' }], found: undefined },
    { name: 'skips a volume that is being deleted', volumes: [{ deleting: true }], found: undefined },
    { name: 'skips a pending volume', volumes: [{ phase: 'Pending' }], found: undefined },
    { name: 'skips a released volume', volumes: [{ phase: 'Released' }], found: undefined },
    { name: 'skips a volume that another claim owns', volumes: [{ claimRef: refTo(other) }], found: undefined },
    {
      name: 'takes a volume with the labels of the selector',
      claim: { selector: { matchLabels: { disk: 'ssd' } } },
      volumes: [{ key: 'a' }, { key: 'b', labels: { disk: 'ssd' } }],
      found: 'b',
    },
    {
      name: 'evaluates the expressions of the selector',
      claim: { selector: { matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['a'] }] } },
      volumes: [
        { key: 'a', labels: { zone: 'a' } },
        { key: 'b', labels: { zone: 'b' } },
      ],
      found: 'b',
    },
    {
      name: 'prefers the reserved volume to a volume that fits better',
      volumes: [{ key: 'a' }, { key: 'b', capacity: '9Gi', claimRef: reservedFor(claim()) }],
      found: 'b',
    },
    {
      name: 'takes the reserved volume in any phase and class',
      volumes: [{ key: 'a', phase: 'Pending', className: 'slow', claimRef: refTo(claim()) }],
      found: 'a',
    },
    {
      name: 'skips a volume that is bound to a deleted claim of the same name',
      volumes: [{ claimRef: { ...refTo(claim()), uid: 'uid-of-old' } }],
      found: undefined,
    },
    {
      name: 'skips a reserved volume that is too small',
      volumes: [{ capacity: '1Mi', claimRef: refTo(claim()) }],
      found: undefined,
    },
    {
      name: 'leaves the choice to the binder if the class has delayed binding',
      volumes: [{}],
      options: { delayed: true },
      found: undefined,
    },
    {
      name: 'takes a reserved volume even if the class has delayed binding',
      volumes: [{ key: 'a', claimRef: refTo(claim()) }],
      options: { delayed: true },
      found: 'a',
    },
    {
      name: 'takes a volume that the node of the binder can reach',
      volumes: [
        { key: 'a', required: zone('a') },
        { key: 'b', required: zone('b') },
      ],
      options: { delayed: true, node: { name: 'node-1', labels: { zone: 'b' } } },
      found: 'b',
    },
    {
      name: 'returns undefined if the node cannot reach the reserved volume',
      volumes: [{ key: 'a', required: zone('a'), claimRef: refTo(claim()) }, { key: 'b' }],
      options: { node: { name: 'node-1', labels: { zone: 'b' } } },
      found: undefined,
    },
    {
      name: 'skips a volume that was promised to another claim of the pod',
      volumes: [{ key: 'a' }, { key: 'b', capacity: '2Gi' }],
      options: { reserved: new Set(['a']) },
      found: 'b',
    },
  ]
  it.each(rows)('the choice of a volume for a claim $name', (row) => {
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
  it.each(rows)('the controller names the difference between a volume and a claim: %s', (_, change, text) => {
    expect(mismatch(claim(), volume(change))).toBe(text)
  })
})
