import { describe, expect, it } from '@jest/globals'
import type { ProvisionerNode, Registration } from '../caches/cluster.ts'
import { requirementOf, type TopologyRules } from './requirement.ts'

type Nodes = Readonly<Record<string, { keys?: readonly string[]; labels?: Readonly<Record<string, string>> }>>

const NODES: Nodes = {
  a: { keys: ['zone'], labels: { zone: 'z1' } },
  b: { keys: ['zone'], labels: { zone: 'z2' } },
  c: { keys: ['zone'], labels: { zone: 'z3' } },
  copy: { keys: ['zone'], labels: { zone: 'z1' } },
  unregistered: { labels: { zone: 'z9' } },
}

function cluster(nodes: Nodes) {
  const identity = (key: string) => ({ key, uid: key, resourceVersion: '1' })
  const nodeMap = new Map<string, ProvisionerNode>()
  const registrations = new Map<string, Registration>()
  for (const [key, { keys, labels }] of Object.entries(nodes)) {
    if (labels !== undefined) nodeMap.set(key, { ...identity(key), labels })
    registrations.set(key, { ...identity(key), topologyKeys: keys })
  }
  return { nodes: nodeMap, registrations }
}

const RULES: TopologyRules = { claimName: 'data', node: '', allowed: [], isStrict: false, isImmediate: true }
const zones = (...values: string[]) => [{ matchLabelExpressions: [{ key: 'zone', values }] }]
const of = (rules: Partial<TopologyRules>, nodes = NODES) => requirementOf({ ...RULES, ...rules }, cluster(nodes))
const segments = (list: readonly { segments: Record<string, string> }[] | undefined) =>
  list?.map((each) => Object.values(each.segments).join('/'))

describe('requirementOf', () => {
  it.each<[string, Partial<TopologyRules>, string[] | undefined, string[] | undefined]>([
    ['all topologies without a node', {}, ['z1', 'z2', 'z3'], ['z1', 'z2', 'z3']],
    ['z1 first for the StatefulSet index 0', { claimName: 'data-0' }, ['z1', 'z2', 'z3'], ['z1', 'z2', 'z3']],
    ['z2 first for the StatefulSet index 1', { claimName: 'data-1' }, ['z1', 'z2', 'z3'], ['z2', 'z3', 'z1']],
    ['one order for all claims of a pod', { claimName: 'logs-data-1' }, ['z1', 'z2', 'z3'], ['z2', 'z3', 'z1']],
    ['no topology with --immediate-topology=false', { isImmediate: false }, undefined, undefined],
    [
      'the allowed topologies without a node',
      { allowed: zones('z7', 'z8'), claimName: 'x' },
      ['z7', 'z8'],
      ['z8', 'z7'],
    ],
    ['the topology of the node first', { node: 'b' }, ['z1', 'z2', 'z3'], ['z2', 'z3', 'z1']],
    ['the allowed topology of the node first', { node: 'b', allowed: zones('z1', 'z2') }, ['z1', 'z2'], ['z2', 'z1']],
    ['the topology of the node alone with --strict-topology', { node: 'b', isStrict: true }, ['z2'], ['z2']],
    ['a strict and allowed topology', { node: 'b', isStrict: true, allowed: zones('z2', 'z3') }, ['z2'], ['z2']],
  ])('`requirementOf` requires %s', (_, rules, requisite, preferred) => {
    const requirement = of(rules)
    expect(segments(requirement?.requisite)).toEqual(requisite)
    expect(segments(requirement?.preferred)).toEqual(preferred)
  })

  it('the topology requirement covers each set of topology keys that nodes register, smaller sets first', () => {
    const nodes: Nodes = {
      a: { keys: ['zone', 'rack'], labels: { zone: 'z1', rack: 'r1' } },
      b: { keys: ['zone'], labels: { zone: 'z2', rack: 'r2' } },
    }
    expect(segments(of({}, nodes)?.requisite)).toEqual(['z1', 'z2', 'r1/z1'])
  })

  it('the topology requirement contains every combination of values from an allowed topology with two keys', () => {
    const allowed = [
      {
        matchLabelExpressions: [
          { key: 'zone', values: ['z1', 'z2'] },
          { key: 'rack', values: ['r1', 'r2'] },
        ],
      },
    ]
    expect(segments(of({ allowed })?.requisite)).toEqual(['r1/z1', 'r1/z2', 'r2/z1', 'r2/z2'])
    const message = expect.stringContaining(
      '[[{rack r1} {zone z1}] [{rack r1} {zone z2}] [{rack r2} {zone z1}] [{rack r2} {zone z2}]]',
    )
    expect(() => of({ allowed, node: 'c', isStrict: true })).toThrow(expect.objectContaining({ message }))
  })

  const PREFIX = 'error generating accessibility requirements: '
  it.each<[string, Partial<TopologyRules>, Nodes]>([
    ['failed to get selected CSINode n: csinode.storage.k8s.io "n" not found', { node: 'n' }, NODES],
    [`${PREFIX}no topology key found for node unregistered`, { node: 'unregistered' }, NODES],
    [
      `${PREFIX}topology labels from selected node map[b:2 b-c:1] does not match topology keys from CSINode [zone rack]`,
      { node: 'n' },
      { n: { keys: ['zone', 'rack'], labels: { 'b-c': '1', b: '2' } } },
    ],
    [
      `${PREFIX}topology labels from selected node map[] does not match topology keys from CSINode [zone]`,
      { node: 'n' },
      { n: { keys: ['zone'] } },
    ],
    [
      `${PREFIX}topology [{zone z1}] from selected node "a" is not in requisite: [[{zone z2}] [{zone z3}]]`,
      { node: 'a', allowed: zones('z3', 'z2') },
      NODES,
    ],
    [
      `${PREFIX}selected node '"a"' topology '[{zone z1}]' is not in allowed topologies: [[{zone z2}]]`,
      { node: 'a', isStrict: true, allowed: zones('z2') },
      NODES,
    ],
    [`${PREFIX}no available topology found`, {}, { a: {} }],
    [`${PREFIX}topologyKeys [[zone]] were not found on any nodes`, {}, { a: { keys: ['zone'] } }],
  ])('`requirementOf` fails with %s', (message, rules, nodes) => {
    expect(() => of(rules, nodes)).toThrow(expect.objectContaining({ message }))
  })

  it('a claim returns to the scheduler only if its selected node has no CSINode', () => {
    expect(() => of({ node: 'n' })).toThrow(expect.objectContaining({ reschedule: true }))
    expect(() => of({ node: 'unregistered' })).toThrow(expect.objectContaining({ reschedule: false }))
  })
})
