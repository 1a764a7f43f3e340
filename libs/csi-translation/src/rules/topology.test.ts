import type { NodeSelectorRequirement, PersistentVolume } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { addTopology, affinityToCsi, BETA, GA, type TopologyLabels, topologyToInTree } from './topology.ts'
import { TranslationError } from './translation-error.ts'

const KEY = 'topology.gke.io/zone'
type Terms = readonly (readonly NodeSelectorRequirement[])[]

const within = (key: string, ...values: string[]) => ({ key, operator: 'In', values })
const exists = (key: string) => ({ key, operator: 'Exists' })
const affinity = (terms: Terms) => ({
  required: { nodeSelectorTerms: terms.map((matchExpressions) => ({ matchExpressions })) },
})
const volume = (labels?: TopologyLabels, terms?: Terms): PersistentVolume => ({
  metadata: { labels },
  spec: { nodeAffinity: terms && affinity(terms) },
})

describe('affinityToCsi', () => {
  it.each<[what: string, labels: TopologyLabels | undefined, before: Terms | undefined, after: Terms | undefined]>([
    ['nothing is known', undefined, undefined, undefined],
    ['a GA label', { [GA.zone]: 'a' }, undefined, [[within(KEY, 'a')]]],
    [
      'a label of many zones is trimmed, sorted, without doubles',
      { [GA.zone]: ' b __a____b' },
      undefined,
      [[within(KEY, 'a', 'b')]],
    ],
    ['a label without a valid zone', { [GA.zone]: ' __ ' }, undefined, undefined],
    ['both labels: GA wins', { [GA.zone]: 'a', [BETA.zone]: 'b' }, undefined, [[within(KEY, 'a')]]],
    ['an empty GA label still hides the beta one', { [GA.zone]: '', [BETA.zone]: 'b' }, undefined, undefined],
    ['affinity wins over labels', { [GA.zone]: 'a' }, [[within(BETA.zone, 'b')]], [[within(KEY, 'b')]]],
    [
      'every expression of every term is renamed, values as they are',
      undefined,
      [[within(GA.zone, 'b', 'a', 'b')], [within('other', 'x'), within(GA.zone, 'c')]],
      [[within(KEY, 'b', 'a', 'b')], [within('other', 'x'), within(KEY, 'c')]],
    ],
    [
      'an operator without values is not renamed, so the label counts',
      { [GA.zone]: 'a' },
      [[exists(GA.zone)]],
      [[exists(GA.zone), within(KEY, 'a')]],
    ],
    [
      'an expression without values is renamed beside one with',
      undefined,
      [[exists(GA.zone)], [within(GA.zone, 'a')]],
      [[exists(KEY)], [within(KEY, 'a')]],
    ],
    [
      "the driver's own key gets a second expression from a label",
      { [GA.zone]: 'b' },
      [[within(KEY, 'a')], [within('other', 'x')]],
      [
        [within(KEY, 'a'), within(KEY, 'b')],
        [within('other', 'x'), within(KEY, 'b')],
      ],
    ],
    [
      'both generations in one affinity: only GA is renamed',
      undefined,
      [[within(GA.zone, 'a'), within(BETA.zone, 'b'), within(BETA.region, 'r')]],
      [[within(KEY, 'a'), within(BETA.zone, 'b'), within(BETA.region, 'r')]],
    ],
    [
      'a beta volume has its region renamed to GA',
      undefined,
      [[within(BETA.zone, 'a'), within(BETA.region, 'r')]],
      [[within(KEY, 'a'), within(GA.region, 'r')]],
    ],
    ['a lone beta region stays', undefined, [[within(BETA.region, 'r')]], [[within(BETA.region, 'r')]]],
    [
      'a beta label alone makes it a beta volume',
      { [BETA.zone]: 'a' },
      [[within(BETA.region, 'r')]],
      [[within(GA.region, 'r'), within(KEY, 'a')]],
    ],
    ['no terms: one is made', { [GA.zone]: 'a' }, [], [[within(KEY, 'a')]]],
    ['region labels never matter', { [BETA.region]: 'r', [GA.region]: 'r' }, undefined, undefined],
  ])('%s', (_what, labels, before, after) => {
    expect(affinityToCsi(volume(labels, before), KEY)).toEqual(after && affinity(after))
  })

  it('ignores match fields', () => {
    const nodeAffinity = { required: { nodeSelectorTerms: [{ matchFields: [within(BETA.zone, 'b')] }] } }
    const pv = { metadata: { labels: { [GA.zone]: 'a' } }, spec: { nodeAffinity } }
    expect(affinityToCsi(pv, KEY)).toEqual({
      required: {
        nodeSelectorTerms: [{ matchFields: [within(BETA.zone, 'b')], matchExpressions: [within(KEY, 'a')] }],
      },
    })
  })
})

describe('topologyToInTree', () => {
  const regionOf = (zones: readonly string[]): string => {
    if (zones.length === 0) throw new TranslationError('NO_ZONES', 'no zones specified')
    return zones.map((zone) => zone.slice(0, 2)).join('+')
  }

  it.each<[what: string, before: PersistentVolume, labels: TopologyLabels | undefined, terms: Terms | undefined]>([
    ['no affinity', volume({ a: 'b' }), { a: 'b' }, undefined],
    [
      'zone and region come back as affinity and labels',
      volume(undefined, [[within(KEY, 'us-b', 'us-a')]]),
      { [GA.zone]: 'us-a__us-b', [GA.region]: 'us+us' },
      [[within(GA.zone, 'us-b', 'us-a'), within(GA.region, 'us+us')]],
    ],
    [
      'labels that are there win, and choose the generation',
      volume({ [BETA.zone]: 'mine', [BETA.region]: 'mine too' }, [[within(KEY, 'us-a')]]),
      { [BETA.zone]: 'mine', [BETA.region]: 'mine too' },
      [[within(BETA.zone, 'us-a'), within(BETA.region, 'us')]],
    ],
    [
      'a term that has a region keeps it; two regions make no label',
      volume(undefined, [[within(KEY, 'us-a'), within(GA.region, 'eu')], [within(KEY, 'us-a')]]),
      { [GA.zone]: 'us-a' },
      [
        [within(GA.zone, 'us-a'), within(GA.region, 'eu')],
        [within(GA.zone, 'us-a'), within(GA.region, 'us')],
      ],
    ],
  ])('%s', (_what, before, labels, terms) => {
    const topology = topologyToInTree(before, KEY, regionOf)
    expect(topology).toEqual({ labels, nodeAffinity: terms && affinity(terms) })
  })

  it('adds no region if the volume has none', () => {
    expect(topologyToInTree(volume(undefined, [[within(KEY, 'a')]]), KEY)).toEqual({
      labels: { [GA.zone]: 'a' },
      nodeAffinity: affinity([[within(GA.zone, 'a')]]),
    })
  })

  it('fails on a term without zones, and names the volume', () => {
    const pv = volume(undefined, [[within('other', 'x')]])
    expect(() => topologyToInTree(pv, KEY, regionOf)).toThrow(
      expect.objectContaining({
        code: 'NO_ZONES',
        message: `failed to translate topology. PV:${JSON.stringify(pv)}. Error:Failed to handle region topology. error: no zones specified`,
      }),
    )
  })
})

it('addTopology refuses zones that are all blank', () => {
  expect(() => addTopology({}, KEY, ['', ' '])).toThrow(
    new TranslationError('NO_VALID_ZONES', 'there are no valid zones to add to pv'),
  )
})
