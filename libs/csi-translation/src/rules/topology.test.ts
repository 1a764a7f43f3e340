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
  it.each<[name: string, labels: TopologyLabels | undefined, before: Terms | undefined, after: Terms | undefined]>([
    ['adds no affinity without labels', undefined, undefined, undefined],
    ['translates a GA label', { [GA.zone]: 'a' }, undefined, [[within(KEY, 'a')]]],
    [
      'trims and sorts several zones of a label, without duplicates',
      { [GA.zone]: ' b __a____b' },
      undefined,
      [[within(KEY, 'a', 'b')]],
    ],
    ['ignores a label without a valid zone', { [GA.zone]: ' __ ' }, undefined, undefined],
    ['prefers the GA label to the beta label', { [GA.zone]: 'a', [BETA.zone]: 'b' }, undefined, [[within(KEY, 'a')]]],
    ['ignores the beta label even if the GA label is empty', { [GA.zone]: '', [BETA.zone]: 'b' }, undefined, undefined],
    ['prefers affinity to labels', { [GA.zone]: 'a' }, [[within(BETA.zone, 'b')]], [[within(KEY, 'b')]]],
    [
      'renames the key in every expression of every term, and keeps the values',
      undefined,
      [[within(GA.zone, 'b', 'a', 'b')], [within('other', 'x'), within(GA.zone, 'c')]],
      [[within(KEY, 'b', 'a', 'b')], [within('other', 'x'), within(KEY, 'c')]],
    ],
    [
      'does not rename an operator without values, and uses the label',
      { [GA.zone]: 'a' },
      [[exists(GA.zone)]],
      [[exists(GA.zone), within(KEY, 'a')]],
    ],
    [
      'renames an expression without values next to an expression with values',
      undefined,
      [[exists(GA.zone)], [within(GA.zone, 'a')]],
      [[exists(KEY)], [within(KEY, 'a')]],
    ],
    [
      'adds an expression for a label next to the key of the driver',
      { [GA.zone]: 'b' },
      [[within(KEY, 'a')], [within('other', 'x')]],
      [
        [within(KEY, 'a'), within(KEY, 'b')],
        [within('other', 'x'), within(KEY, 'b')],
      ],
    ],
    [
      'renames only GA keys if both generations are present',
      undefined,
      [[within(GA.zone, 'a'), within(BETA.zone, 'b'), within(BETA.region, 'r')]],
      [[within(KEY, 'a'), within(BETA.zone, 'b'), within(BETA.region, 'r')]],
    ],
    [
      'renames the region key of a beta volume to GA',
      undefined,
      [[within(BETA.zone, 'a'), within(BETA.region, 'r')]],
      [[within(KEY, 'a'), within(GA.region, 'r')]],
    ],
    ['keeps a beta region without a zone', undefined, [[within(BETA.region, 'r')]], [[within(BETA.region, 'r')]]],
    [
      'uses the beta generation for a volume with only a beta label',
      { [BETA.zone]: 'a' },
      [[within(BETA.region, 'r')]],
      [[within(GA.region, 'r'), within(KEY, 'a')]],
    ],
    ['adds a term if there are no terms', { [GA.zone]: 'a' }, [], [[within(KEY, 'a')]]],
    ['ignores region labels', { [BETA.region]: 'r', [GA.region]: 'r' }, undefined, undefined],
  ])('`affinityToCsi` %s', (_what, labels, before, after) => {
    expect(affinityToCsi(volume(labels, before), KEY)).toEqual(after && affinity(after))
  })

  it('the translation of an affinity to CSI keeps the match fields of a term unchanged', () => {
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

  it.each<[name: string, before: PersistentVolume, labels: TopologyLabels | undefined, terms: Terms | undefined]>([
    ['keeps the labels of a volume without affinity', volume({ a: 'b' }), { a: 'b' }, undefined],
    [
      'returns zone and region as affinity and as labels',
      volume(undefined, [[within(KEY, 'us-b', 'us-a')]]),
      { [GA.zone]: 'us-a__us-b', [GA.region]: 'us+us' },
      [[within(GA.zone, 'us-b', 'us-a'), within(GA.region, 'us+us')]],
    ],
    [
      'keeps existing labels, which determine the generation',
      volume({ [BETA.zone]: 'mine', [BETA.region]: 'mine too' }, [[within(KEY, 'us-a')]]),
      { [BETA.zone]: 'mine', [BETA.region]: 'mine too' },
      [[within(BETA.zone, 'us-a'), within(BETA.region, 'us')]],
    ],
    [
      'keeps the region of a term, and adds no label for two regions',
      volume(undefined, [[within(KEY, 'us-a'), within(GA.region, 'eu')], [within(KEY, 'us-a')]]),
      { [GA.zone]: 'us-a' },
      [
        [within(GA.zone, 'us-a'), within(GA.region, 'eu')],
        [within(GA.zone, 'us-a'), within(GA.region, 'us')],
      ],
    ],
  ])('`topologyToInTree` %s', (_what, before, labels, terms) => {
    const topology = topologyToInTree(before, KEY, regionOf)
    expect(topology).toEqual({ labels, nodeAffinity: terms && affinity(terms) })
  })

  it('a translated topology has no region label if the zone names do not contain the region', () => {
    expect(topologyToInTree(volume(undefined, [[within(KEY, 'a')]]), KEY)).toEqual({
      labels: { [GA.zone]: 'a' },
      nodeAffinity: affinity([[within(GA.zone, 'a')]]),
    })
  })

  it('the translation to in-tree refuses a topology term without zones with an error that names the volume', () => {
    const pv = volume(undefined, [[within('other', 'x')]])
    expect(() => topologyToInTree(pv, KEY, regionOf)).toThrow(
      expect.objectContaining({
        code: 'NO_ZONES',
        message: `failed to translate topology. PV:${JSON.stringify(pv)}. Error:Failed to handle region topology. error: no zones specified`,
      }),
    )
  })
})

it('a topology with only blank zones is refused', () => {
  expect(() => addTopology({}, KEY, ['', ' '])).toThrow(
    new TranslationError('NO_VALID_ZONES', 'there are no valid zones to add to pv'),
  )
})
