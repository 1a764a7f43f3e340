import type { NodeSelectorRequirement, NodeSelectorTerm } from '@csi-sidecars/kube-types'
import { expect, test } from '@jest/globals'
import { ownerOf, type ResizerNode, type VolumeOwner } from './owner.ts'

const NODE: ResizerNode = {
  name: 'a',
  labels: {
    'kubernetes.io/hostname': 'a.example.com',
    'topology.kubernetes.io/zone': 'east',
    'csi.example.com/node': 'a',
    'csi.example.com/host': 'a.example.com',
    'csi.example.com/machine': 'id-a',
    'csi.example.com/rack': 'r1',
    'csi.example.com/slots': '8',
    'other.example.com/node': 'a',
  },
  nodeId: 'id-a',
  topologyKeys: [
    'csi.example.com/node',
    'csi.example.com/host',
    'csi.example.com/machine',
    'csi.example.com/rack',
    'topology.kubernetes.io/zone',
    'csi.example.com/missing',
  ],
}

const when = (key: string, operator: string, ...values: string[]): NodeSelectorRequirement => ({
  key: key.includes('/') ? key : `csi.example.com/${key}`,
  operator,
  ...(values.length > 0 && { values }),
})
const labels = (...matchExpressions: NodeSelectorRequirement[]): NodeSelectorTerm => ({ matchExpressions })
const fields = (...matchFields: NodeSelectorRequirement[]): NodeSelectorTerm => ({ matchFields })
const named = (operator: string, ...values: string[]): NodeSelectorRequirement => ({
  key: 'metadata.name',
  operator,
  values,
})

test.each<[name: string, owner: VolumeOwner, ...terms: NodeSelectorTerm[]]>([
  ['this node by a topology key', 'own', labels(when('node', 'In', 'a'))],
  ['this node by a topology key with the host name', 'own', labels(when('host', 'In', 'a.example.com'))],
  ["this node by a topology key with the driver's id", 'own', labels(when('machine', 'In', 'id-a'))],
  ['this node by its host name', 'own', labels(when('kubernetes.io/hostname', 'In', 'a.example.com'))],
  ['this node by its name', 'own', fields(named('In', 'a'))],
  ['this node twice', 'own', labels(when('node', 'In', 'a', 'a'))],
  ['this node and its rack', 'own', labels(when('rack', 'In', 'r1'), when('node', 'In', 'a'))],
  ['this node by its name, and a label', 'own', { ...fields(named('In', 'a')), ...labels(when('rack', 'Exists')) }],
  ['this node in both terms', 'own', labels(when('node', 'In', 'a')), fields(named('In', 'a'))],
  [
    'this node in one term, and this node in a rack that it is not in',
    'own',
    labels(when('node', 'In', 'a')),
    labels(when('node', 'In', 'a'), when('rack', 'In', 'r2')),
  ],
  ['this node in one term, and no node in an empty term', 'own', labels(when('node', 'In', 'a')), {}],

  ['another node', 'foreign', labels(when('node', 'In', 'b'))],
  ['other nodes', 'foreign', labels(when('node', 'In', 'b')), labels(when('node', 'In', 'c'))],
  ['another node by its name', 'foreign', fields(named('In', 'b'))],
  ['all nodes except this node', 'foreign', labels(when('node', 'NotIn', 'a'))],
  ['all nodes except this node, by name', 'foreign', fields(named('NotIn', 'a'))],
  ['this node, in another rack', 'foreign', labels(when('node', 'In', 'a'), when('rack', 'In', 'r2'))],
  [
    'this node by its name, in another rack',
    'foreign',
    { ...fields(named('In', 'a')), ...labels(when('rack', 'In', 'r2')) },
  ],
  ['a label that this node lacks', 'foreign', labels(when('node', 'In', 'a'), when('missing', 'Exists'))],
  ['nodes without a label that this node has', 'foreign', labels(when('node', 'DoesNotExist'))],
  ['a number above the label of this node', 'foreign', labels(when('slots', 'Gt', '8'))],
  ['a number below the label of this node', 'foreign', labels(when('slots', 'Lt', '8'))],
  ['an invalid number', 'foreign', labels(when('slots', 'Gt', 'few'))],
  ['a number above two limits', 'foreign', labels(when('slots', 'Gt', '1', '2'))],
  ['a number above 0 for a text label', 'foreign', labels(when('rack', 'Gt', '0'))],
  ['an unknown operator', 'foreign', labels(when('node', 'Like', 'a'))],
  ['an unknown field', 'foreign', fields({ key: 'spec.x', operator: 'In', values: ['a'] })],
  ['no value of a label', 'foreign', labels(when('node', 'In'))],
  ['no node, by an empty term', 'foreign', {}],
  ['a label named like a property of every object', 'foreign', labels(when('x/constructor', 'Exists'))],

  ['two nodes', 'shared', labels(when('node', 'In', 'a', 'b'))],
  ['two nodes in two terms', 'shared', labels(when('node', 'In', 'a')), labels(when('node', 'In', 'b'))],
  ['two nodes by name', 'shared', fields(named('In', 'a')), fields(named('In', 'b'))],
  ['a zone', 'shared', labels(when('topology.kubernetes.io/zone', 'In', 'east'))],
  ['a rack of the driver', 'shared', labels(when('rack', 'In', 'r1'))],
  [
    'a zone or this node',
    'shared',
    labels(when('node', 'In', 'a')),
    labels(when('topology.kubernetes.io/zone', 'In', 'east')),
  ],
  ['all nodes with the driver', 'shared', labels(when('node', 'Exists'))],
  ['all nodes except another node', 'shared', labels(when('node', 'NotIn', 'b'))],
  ['nodes without a label that this node lacks too', 'shared', labels(when('missing', 'DoesNotExist'))],
  ['nodes with a number above 7', 'shared', labels(when('slots', 'Gt', '7'))],
  ['nodes with a number below 9', 'shared', labels(when('slots', 'Lt', '+9'))],
  ["a key of another driver's topology", 'shared', labels(when('other.example.com/node', 'In', 'a'))],
])('a volume whose nodeAffinity selects %s has the owner: %s', (_what, owner, ...terms) => {
  expect(ownerOf({ required: { nodeSelectorTerms: terms } }, NODE)).toBe(owner)
})

test.each([
  ['without nodeAffinity', undefined],
  ['without a node selector', {}],
  ['with a node selector without terms', { required: { nodeSelectorTerms: [] } }],
])('a volume %s has the owner none', (_what, affinity) => {
  expect(ownerOf(affinity, NODE)).toBe('none')
})

test('an empty topology value does not identify a node', () => {
  const node = { ...NODE, nodeId: '', labels: { 'csi.example.com/node': '' } }
  expect(ownerOf({ required: { nodeSelectorTerms: [labels(when('node', 'In', ''))] } }, node)).toBe('shared')
})

test('the host name label identifies a node, even if the CSINode does not list it as a topology key', () => {
  const node = { ...NODE, topologyKeys: [] }
  const byKey = { required: { nodeSelectorTerms: [labels(when('node', 'In', 'a'))] } }
  const byHost = { required: { nodeSelectorTerms: [labels(when('kubernetes.io/hostname', 'In', 'a.example.com'))] } }
  expect([ownerOf(byKey, node), ownerOf(byHost, node)]).toEqual(['shared', 'own'])
})
