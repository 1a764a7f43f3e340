import { CSI_NODES, NODES, PERSISTENT_VOLUME_CLAIMS, type TopologySelectorTerm } from '@csi-sidecars/kube-types'
import { failure, merged, OK, withoutFinalizers } from '../../rows/actions.ts'
import { claimed, nodesCreated, provisionerRows, touched, volumeAnswer } from '../../rows/provisioner/rows.ts'
import { LATE, SELECTED_NODE, type Site } from '../../rows/provisioner/scene.ts'
import type { Action } from '../../rows/row.ts'

/** Rows about the topologies in CreateVolume, and about the node affinity that a driver returns. */

const row = provisionerRows('topology', import.meta.filename)
const ONCE = ['--retry-interval-start=1h', '--retry-interval-max=1h']

const zone = (value: string): Site => ({ labels: { zone: value }, keys: ['zone'] })
const SITES = { a: zone('z1'), b: zone('z2'), c: zone('z3'), copy: zone('z1'), label: { labels: { zone: 'z9' } } }
const zones = (...values: string[]): TopologySelectorTerm => ({ matchLabelExpressions: [{ key: 'zone', values }] })

interface ClaimCase {
  /** The end of the name of the claim, such as the index in a StatefulSet. */
  readonly name?: string
  /** The selected node. Undefined: the class has immediate binding. */
  readonly node?: string
  readonly allowed?: TopologySelectorTerm[]
}

/** Creates a claim with a class of its own. */
function claimWith({ name = 'data-0', node, allowed }: ClaimCase, index = 0): Action<unknown> {
  const storageClass = { ...(node !== undefined && LATE), ...(allowed && { allowedTopologies: allowed }) }
  return claimed(
    (t) => ({ class: storageClass, annotations: { [SELECTED_NODE]: node && t.name(node) } }),
    `-${index}-${name}`,
  )
}

const REQUESTS: Readonly<Record<string, readonly ClaimCase[]>> = {
  '': [
    { name: 'data-0' },
    { name: 'data-1' },
    { name: 'logs-data-1' },
    { name: 'data-4294967295' },
    { allowed: [zones('z8', 'z7')] },
    { node: 'b' },
    { node: 'b', allowed: [zones('z1', 'z2')] },
  ],
  '--strict-topology': [{ name: 'data-2' }, { node: 'b' }, { node: 'b', allowed: [zones('z2', 'z3')] }],
  '--immediate-topology=false': [{}, { allowed: [zones('z7', 'z8')] }, { node: 'a' }],
  '--feature-gates=Topology=false': [{ node: 'a' }],
}
for (const [flag, claims] of Object.entries(REQUESTS)) {
  row(`binding mode, selected node and class determine the topologies in CreateVolume${flag && `, with ${flag}`}`, {
    setup: { nodes: SITES, args: flag === '' ? [] : [flag] },
    steps: claims.map(claimWith),
  })
}

row('if nodes register different topology keys, CreateVolume gets topologies of each set of keys', {
  setup: {
    nodes: {
      a: { keys: ['zone', 'rack'], labels: { zone: 'z1', rack: 'r1' } },
      b: { keys: ['zone'], labels: { zone: 'z2', rack: 'r2' } },
    },
  },
  steps: [claimWith({})],
})
const TWO_KEYS = {
  matchLabelExpressions: [
    { key: 'zone', values: ['z1', 'z2'] },
    { key: 'rack', values: ['r1', 'r2'] },
  ],
}
row('every combination of values in allowedTopologies is a topology in CreateVolume', {
  setup: { nodes: SITES },
  steps: [claimWith({ allowed: [TWO_KEYS, zones('z3')] })],
})

row('an event reports that no node has a usable topology', {
  setup: { args: ONCE, nodes: { unregistered: { labels: { zone: 'z9' } } } },
  steps: [
    claimWith({}),
    [
      withoutFinalizers(PERSISTENT_VOLUME_CLAIMS, 'pvc-0-data-0'),
      nodesCreated({ unlabelled: { labels: {}, keys: ['zone'] } }),
      claimWith({}, 1),
    ],
  ],
})
row('an event reports that the selected node of a claim has no usable topology', {
  setup: {
    args: ONCE,
    nodes: {
      unregistered: { labels: { zone: 'z9' } },
      keyless: { labels: {}, keys: [] },
      mislabelled: { keys: ['zone', 'rack'], labels: { 'b-c': '1', b: '2' } },
      gone: { keys: ['zone'] },
      a: zone('z1'),
    },
  },
  steps: [
    claimWith({ name: 'unregistered', node: 'unregistered' }),
    claimWith({ name: 'keyless', node: 'keyless' }),
    claimWith({ name: 'mislabelled', node: 'mislabelled' }),
    claimWith({ name: 'gone', node: 'gone' }),
    claimWith({ name: 'forbidden', node: 'a', allowed: [zones('z3', 'z2')] }),
  ],
})
row('an event reports that the selected node is not in the allowed topologies, with --strict-topology', {
  setup: { args: ['--strict-topology', ...ONCE], nodes: { ...SITES, n: zone('z9') } },
  steps: [claimWith({ node: 'a', allowed: [zones('z3', 'z2')] }), claimWith({ node: 'n', allowed: [TWO_KEYS] }, 1)],
})

const newLabel = merged(NODES, 'b', { metadata: { labels: { zone: 'z4' } } })
const selected = claimed((t) => ({ annotations: { [SELECTED_NODE]: t.name('b') } }))
row('the topology in a repeated CreateVolume call stays the same while the creation may be running', {
  setup: { args: ONCE, nodes: SITES, class: LATE, answers: { CreateVolume: [failure(4), OK] } },
  differs: ['repeated-events'],
  steps: [selected, newLabel, withoutFinalizers(CSI_NODES, 'c'), touched()],
})
row('the topology in a repeated CreateVolume call follows the Nodes after a final gRPC code', {
  setup: { args: ONCE, nodes: SITES, class: LATE, answers: { CreateVolume: [failure(13), OK] } },
  differs: ['repeated-events'],
  steps: [selected, newLabel, touched()],
})

const accessibleTopology = [{ segments: { zone: 'z1', rack: 'r1' } }, { segments: {} }, { segments: { zone: 'z2' } }]
row('the node affinity of the PersistentVolume has the topologies that the driver returns', {
  setup: { nodes: SITES, answers: { CreateVolume: [volumeAnswer({ accessibleTopology })] } },
  steps: [claimWith({})],
})
row('a claim is provisioned at once when the selected node registers the driver', {
  setup: { args: ONCE, nodes: { a: { labels: { zone: 'z1' } } } },
  differs: ['retry-when-cause-is-gone'],
  steps: [
    claimWith({ node: 'a' }),
    merged(CSI_NODES, 'a', (t) => ({
      spec: { drivers: [{ name: t.driverName, nodeID: 'a', topologyKeys: ['zone'] }] },
    })),
  ],
})
