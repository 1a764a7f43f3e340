import type { NodeSelectorRequirement } from '@csi-sidecars/kube-types'
import { expect, it } from '@jest/globals'
import { BETA, GA, type TopologyLabels } from '../rules/topology.ts'
import { translateCSIPVToInTree, translateInTreeInlineVolumeToCSI, translateInTreePVToCSI } from '../translate.ts'

const ZONE = 'topology.csi.vmware.com/zone'
const REGION = 'topology.csi.vmware.com/region'
const vsphereVolume = { volumePath: '[ds] a.vmdk' }
const within = (key: string, ...values: string[]) => ({ key, operator: 'In', values })
const affinity = (...matchExpressions: NodeSelectorRequirement[]) => ({
  required: { nodeSelectorTerms: [{ matchExpressions }] },
})

it.each<[name: string, labels: TopologyLabels, expressions: NodeSelectorRequirement[]]>([
  ['the zone before the region', { [GA.region]: 'r', [GA.zone]: 'z' }, [within(ZONE, 'z'), within(REGION, 'r')]],
  ['one zone, even with `__` in it', { [GA.zone]: ' a__b ' }, [within(ZONE, 'a__b')]],
  ['beta labels, too', { [BETA.zone]: 'z', [BETA.region]: 'r' }, [within(ZONE, 'z'), within(REGION, 'r')]],
  ['the zone chooses the generation', { [BETA.zone]: 'z', [GA.region]: 'r' }, [within(ZONE, 'z')]],
])('the translation of a vSphere volume turns its labels into affinity: %s', (_what, labels, expressions) => {
  const pv = translateInTreePVToCSI({ metadata: { labels }, spec: { vsphereVolume } })
  expect(pv.spec?.nodeAffinity).toEqual(affinity(...expressions))
})

it('the translation of a vSphere volume ignores blank labels', () => {
  const labels = { [GA.zone]: ' ', [GA.region]: '' }
  expect(translateInTreePVToCSI({ metadata: { labels }, spec: { vsphereVolume } }).spec?.nodeAffinity).toBeUndefined()
})

it('the translation of a vSphere volume renames the keys for zone and region in its affinity', () => {
  const nodeAffinity = affinity(within(BETA.region, 'r'), within(BETA.zone, 'z'))
  const { spec } = translateInTreePVToCSI({ spec: { vsphereVolume, nodeAffinity } })
  expect(spec?.nodeAffinity).toEqual(affinity(within(REGION, 'r'), within(ZONE, 'z')))
})

it('the translation from CSI to a vSphere volume returns its path, and the first zone and region as labels', () => {
  const pv = translateCSIPVToInTree({
    spec: {
      csi: { driver: 'csi.vsphere.vmware.com', volumeHandle: 'uid', volumeAttributes: { initialvolumefilepath: 'p' } },
      nodeAffinity: affinity(within(ZONE, 'b', 'a'), within(REGION, 'r')),
    },
  })
  expect(pv).toEqual({
    metadata: { labels: { [GA.zone]: 'a', [GA.region]: 'r' } },
    spec: {
      vsphereVolume: { volumePath: 'p' },
      nodeAffinity: affinity(within(GA.zone, 'b', 'a'), within(GA.region, 'r')),
    },
  })
})

// Upstream crashes on a volume in a pod if the volume has a storage policy.
it('the translation of a vSphere volume that a pod declares inline keeps its storage policy', () => {
  const volume = { name: 'v', vsphereVolume: { ...vsphereVolume, storagePolicyName: 'gold' } }
  expect(translateInTreeInlineVolumeToCSI(volume, '').spec?.csi?.volumeAttributes).toEqual({
    storagepolicyname: 'gold',
  })
})
