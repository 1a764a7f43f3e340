import { describe, expect, it } from '@jest/globals'
import type { CachedNode } from '../caches/node.ts'
import type { CachedPod } from '../caches/pod.ts'
import type { Volume } from '../caches/volume.ts'
import { boundPair, claim, node, pod, refTo, storageClass, volume } from '../testing/objects.ts'
import { type ClaimToPlace, decidePlace, type NodeOption, type PlaceStep, type PlaceView } from './decide.ts'

const WAITS = storageClass({ waitsForConsumer: true })

const option = (name: string, change: Partial<CachedNode> = {}, rest: Partial<NodeOption> = {}): NodeOption => ({
  node: node({ key: name, ...change }),
  pods: 0,
  room: undefined,
  ...rest,
})

const bound = (change: Partial<Volume> = {}): ClaimToPlace => {
  const pair = boundPair({ volume: change })
  return { name: 'data', claim: pair.claim, volume: pair.volume, storageClass: WAITS, isTaken: false }
}

const unbound = (change: Partial<ClaimToPlace> = {}): ClaimToPlace => ({
  name: 'data',
  claim: claim(),
  volume: undefined,
  storageClass: WAITS,
  isTaken: false,
  ...change,
})

const unplaced = (change: Partial<CachedPod> = {}): CachedPod => pod({ nodeName: '', ...change })

const decide = (change: Partial<PlaceView>): string[] =>
  decidePlace({ pod: unplaced(), claims: [], nodes: [option('node-1'), option('node-2')], volumes: [], ...change }).map(
    inShort,
  )

function inShort(step: PlaceStep): string {
  switch (step.kind) {
    case 'bind':
      return `bind to ${step.node}`
    case 'reserve':
      return `reserve ${step.volume.key} for ${step.claim.name}`
    case 'selectNode':
      return `provision ${step.claim.name} for ${step.node}`
    case 'report':
      return step.message
  }
}

const zone = (name: string): Volume['required'] => ({
  nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: [name] }] }],
})

describe('pods', () => {
  const rows: { name: string; view: Partial<PlaceView>; steps: string[] }[] = [
    {
      name: 'gets the node with the fewest pods',
      view: { nodes: [option('node-1', {}, { pods: 2 }), option('node-2', {}, { pods: 1 })] },
      steps: ['bind to node-2'],
    },
    {
      name: 'gets the first of equal nodes',
      view: { nodes: [option('node-2'), option('node-1')] },
      steps: ['bind to node-1'],
    },
    {
      name: 'gets the node that its selector selects',
      view: {
        pod: unplaced({ nodeSelector: { 'kubernetes.io/hostname': 'node-2' } }),
        nodes: [option('node-1'), option('node-2')],
      },
      steps: ['bind to node-2'],
    },
    {
      name: 'gets no node that is cordoned, not ready, tainted or full',
      view: {
        claims: [bound()],
        nodes: [
          option('a', { unschedulable: true }),
          option('b', { ready: false }),
          option('c', { taints: [{ key: 'k', value: '', effect: 'NoSchedule' }] }),
          option('d', {}, { room: 0 }),
        ],
      },
      steps: [
        '0/4 nodes are available: 1 node(s) exceed max volume count, 1 node(s) had untolerated taint(s), 2 node(s) were unschedulable.',
      ],
    },
    {
      name: 'gets a node whose taint it tolerates',
      view: {
        pod: unplaced({ tolerations: [{ key: 'k', operator: 'Exists' }] }),
        nodes: [option('node-1', { taints: [{ key: 'k', value: 'v', effect: 'NoExecute' }] })],
      },
      steps: ['bind to node-1'],
    },
    {
      name: 'waits if there are no nodes',
      view: { nodes: [] },
      steps: ['0/0 nodes are available: no nodes available to schedule pods.'],
    },
    {
      name: 'gets a node that can reach its volume',
      view: {
        claims: [bound({ required: zone('b') })],
        nodes: [option('node-1', { labels: { zone: 'a' } }), option('node-2', { labels: { zone: 'b' } })],
      },
      steps: ['bind to node-2'],
    },
    {
      name: 'waits if its claim is missing',
      view: { claims: [unbound({ claim: undefined })] },
      steps: ['persistentvolumeclaim "data" not found'],
    },
    {
      name: 'waits while a claim without delayed binding is unbound',
      view: { claims: [unbound({ storageClass: storageClass() })] },
      steps: ['pod has unbound immediate PersistentVolumeClaims'],
    },
    {
      name: 'waits if its claim is being deleted',
      view: { claims: [unbound({ claim: claim({ deleting: true }) })] },
      steps: ['persistentvolumeclaim "data" is being deleted'],
    },
    {
      name: 'waits while another pod uses its ReadWriteOncePod claim',
      view: { claims: [{ ...bound(), isTaken: true }] },
      steps: ['node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode'],
    },
  ]
  it.each(rows)('a pod that is not scheduled $name', (row) => {
    expect(decide(row.view)).toEqual(row.steps)
  })
})

describe('claims', () => {
  const rows: { name: string; view: Partial<PlaceView>; steps: string[] }[] = [
    { name: 'gets a new volume for the node', view: { claims: [unbound()] }, steps: ['provision data for node-1'] },
    {
      name: 'reserves an available volume',
      view: { claims: [unbound()], volumes: [volume()] },
      steps: ['reserve pv-1 for data'],
    },
    {
      name: 'gets a new volume if the node cannot reach the available volume',
      view: { claims: [unbound()], volumes: [volume({ required: zone('far') })] },
      steps: ['provision data for node-1'],
    },
    {
      name: 'does not reserve the same volume as another claim of the pod',
      view: {
        claims: [unbound(), unbound({ name: 'more', claim: claim({ name: 'more' }) })],
        volumes: [volume({ key: 'pv-1' }), volume({ key: 'pv-2' })],
      },
      steps: ['reserve pv-1 for data', 'reserve pv-2 for more'],
    },
    {
      name: 'keeps the selected node',
      view: {
        claims: [unbound({ claim: claim({ annotations: { 'volume.kubernetes.io/selected-node': 'node-2' } }) })],
      },
      steps: [],
    },
    {
      name: 'gets another node if the selected node no longer fits',
      view: {
        claims: [unbound({ claim: claim({ annotations: { 'volume.kubernetes.io/selected-node': 'node-9' } }) })],
      },
      steps: ['provision data for node-1'],
    },
    {
      name: 'waits for the PV controller if a volume is reserved',
      view: { claims: [unbound()], volumes: [volume({ claimRef: refTo(claim()) })] },
      steps: [],
    },
    {
      name: 'gets a node in the allowed topologies of its class',
      view: {
        claims: [
          unbound({
            storageClass: storageClass({
              waitsForConsumer: true,
              allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: ['b'] }] }],
            }),
          }),
        ],
        nodes: [option('node-1', { labels: { zone: 'a' } }), option('node-2', { labels: { zone: 'b' } })],
      },
      steps: ['provision data for node-2'],
    },
    {
      name: 'waits for a volume if its class has no provisioner',
      view: {
        claims: [
          unbound({
            storageClass: storageClass({ waitsForConsumer: true, provisioner: 'kubernetes.io/no-provisioner' }),
          }),
        ],
      },
      steps: ["0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind."],
    },
  ]
  it.each(rows)('a claim with delayed binding $name', (row) => {
    expect(decide(row.view)).toEqual(row.steps)
  })
})
