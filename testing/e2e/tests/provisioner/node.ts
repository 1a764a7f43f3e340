import { deepStrictEqual as equal, ok } from 'node:assert'
import { CSI_STORAGE_CAPACITIES, NODES, PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { userWith } from '../../harness/api/user.ts'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import type { DriverReply, FakeDriver } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { failure, merged, OK } from '../../rows/actions.ts'
import {
  type ClaimedParts,
  claimed,
  nodesCreated,
  provisionerRows,
  volumeReleased,
} from '../../rows/provisioner/rows.ts'
import {
  affinityTo,
  claimRef,
  createClaim,
  createClass,
  GI,
  LATE,
  provision,
  provisionedVolume,
  SELECTED_NODE,
} from '../../rows/provisioner/scene.ts'
import type { Action } from '../../rows/row.ts'
import { CAPACITY_RULES } from './capacity.ts'

/** Rows about the provisioner of the node `a`, whose driver has the topology `host=a`. */

const FLAGS = ['--node-deployment', '--node-deployment-base-delay=1ms']
const RETRIES = ['--retry-interval-start=200ms']
const available = (availableCapacity: number): DriverReply => ({
  reply: { availableCapacity: BigInt(availableCapacity) },
})
/** The answer to NodeGetInfo of a driver on a node. */
const nodeInfo = (nodeId: string, segments: Readonly<Record<string, string>>): DriverReply => ({
  reply: { nodeId, maxVolumesPerNode: 0n, accessibleTopology: { segments } },
})
const ANSWERS = { NodeGetInfo: [nodeInfo('a', { host: 'a' })], GetCapacity: [available(GI)] }
const row = provisionerRows('node', import.meta.filename, {
  ofNode: 'a',
  args: FLAGS,
  driver: { topology: true },
  rules: CAPACITY_RULES,
  answers: ANSWERS,
})

const on = (node: string, fields: ClaimedParts = {}, suffix = '') =>
  claimed((t) => ({ ...fields, annotations: { [SELECTED_NODE]: t.name(node) } }), suffix)
const selected = (node: string | null) =>
  merged(PERSISTENT_VOLUME_CLAIMS, 'pvc', (t) => ({
    metadata: { annotations: { [SELECTED_NODE]: node && t.name(node) } },
  }))
const allowing = (...values: string[]): ClaimedParts => ({
  class: { allowedTopologies: [{ matchLabelExpressions: [{ key: 'host', values }] }] },
})

row('with --node-deployment, the provisioner on the selected node of a claim creates the volume', {
  setup: { class: LATE },
  steps: [on('a'), on('b', {}, '-of-b')],
})
row('--strict-topology and --immediate-topology=false do not change the topology of the request', {
  setup: { class: LATE, args: [...FLAGS, '--strict-topology', '--immediate-topology=false'] },
  steps: [on('a')],
})
row('a provisioner instance selects its node for a claim with immediate binding after it has asked for capacity', {
  setup: { class: { parameters: { type: 'ssd', 'csi.storage.k8s.io/fstype': 'xfs' } } },
  steps: [claimed()],
})
row('a provisioner instance selects its node only for claims with immediate binding whose class allows the node', {
  steps: [
    claimed({ class: LATE }, '-late'),
    claimed(allowing('b'), '-forbidden'),
    claimed(allowing('x', 'a'), '-allowed'),
  ],
})
row('a provisioner instance selects no node for a claim with --node-deployment-immediate-binding=false', {
  setup: { args: [...FLAGS, '--node-deployment-immediate-binding=false'] },
  steps: [claimed()],
})
row('a provisioner instance on a node without enough capacity does not select this node, and sends no event', {
  setup: { answers: { ...ANSWERS, GetCapacity: [available(5)] } },
  steps: [claimed()],
})
row('a provisioner instance selects its node for a claim although GetCapacity fails', {
  setup: { answers: { ...ANSWERS, GetCapacity: [failure(13, 'broken')] } },
  steps: [claimed()],
})
row('a provisioner instance selects its node for a claim with an invalid class, so that an event reports the error', {
  setup: { args: [...FLAGS, '--retry-interval-start=1h'], class: { parameters: { 'csi.storage.k8s.io/x': '1' } } },
  steps: [claimed()],
})
row('after ResourceExhausted, a claim loses its selected node, and a provisioner instance selects a node again', {
  setup: { args: [...FLAGS, ...RETRIES], answers: { ...ANSWERS, CreateVolume: [failure(8, 'full'), OK] } },
  steps: [claimed()],
})
row('a provisioner instance ignores a claim while another node is selected', { steps: [on('other'), selected(null)] })
row('a provisioner instance does not delete volumes whose node affinity excludes its node', {
  steps: [
    volumeReleased({ spec: { nodeAffinity: affinityTo('host', 'b') } }, 'other'),
    volumeReleased({ spec: { nodeAffinity: affinityTo('host', 'a') } }, 'own'),
    volumeReleased({}, 'free'),
  ],
})

const strays = provisionerRows('node without driver', import.meta.filename, {
  ofNode: 'a',
  args: [...FLAGS, '--finalize-claims', '--node-deployment-reschedule-after=500ms'],
  driver: { topology: true },
  rules: CAPACITY_RULES,
  answers: ANSWERS,
  class: LATE,
})
/** Creates a Node whose kubelet has not yet created the CSINode. */
const youngCreated: Action<unknown> = {
  name: 'create the Node young',
  run: (t) => t.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: t.name('young') } }),
}
strays('a claim loses a node without the driver once, and the provisioner of the next node creates the volume', {
  only: 'ours',
  steps: [nodesCreated({ bare: { labels: {} } }), on('bare'), selected('a')],
})
// The check of the last claim comes after the checks of the others.
strays('a claim keeps a node that has the driver, and a node whose CSINode does not exist yet', {
  only: 'ours',
  steps: [
    [nodesCreated({ known: { labels: {}, keys: ['host'] }, bare: { labels: {} } }), youngCreated],
    [on('known', {}, '-known'), on('young', {}, '-young'), on('bare')],
  ],
})

const test = testsOf('provisioner', 'node')

interface Site {
  readonly node: string
  readonly driver: FakeDriver
  readonly sidecar: RunningSidecar
}

interface SiteSetup {
  readonly args?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly segments?: Readonly<Record<string, string>>
}

/** Starts the driver and the provisioner of one node. */
async function site(t: TestContext, nodeName: string, setup: SiteSetup = {}): Promise<Site> {
  const { args = [], env = {}, segments = { host: nodeName } } = setup
  const node = t.name(nodeName)
  const driver = await t.driver({ controller: ['CREATE_DELETE_VOLUME'], topology: true })
  driver.on('NodeGetInfo', nodeInfo(node, segments))
  driver.on('GetCapacity', available(GI))
  const sidecar = await t.sidecar({
    driver,
    args: ['--node-deployment', '--node-deployment-base-delay=500ms', ...args],
    env: { NODE_NAME: node, ...env },
    user: await userWith(t, CAPACITY_RULES, `role-${nodeName}`),
  })
  await t.watching(sidecar, 'persistentvolumeclaims', 'persistentvolumes', 'storageclasses')
  return { node, driver, sidecar }
}

test('exactly one provisioner instance selects its node for a claim with immediate binding, and none watches nodes', async (t) => {
  await createClass(t)
  const sites = [await site(t, 'a'), await site(t, 'b')]
  const uid = await createClaim(t)
  await provisionedVolume(t, uid)
  await provision(t, { suffix: '-later' })
  const createsOf = ({ driver }: Site): number =>
    driver.fieldsOf('CreateVolume', 'name').filter((name) => String(name).endsWith(uid)).length
  const { metadata } = await t.api.get(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
  equal(metadata?.annotations?.[SELECTED_NODE], sites.find((each) => createsOf(each) > 0)?.node)
  equal(sites.map(createsOf).sort(), [0, 1])
  for (const { gate } of sites.map(({ sidecar }) => sidecar))
    equal(gate.openWatches('nodes') + gate.openWatches('csinodes'), 0)
})

for (const [length, label] of [
  [10, (node: string) => `external-provisioner-${node}`],
  [45, (node: string) => `external-53f40b57-${node}`],
  [60, () => undefined],
] as const) {
  test(`a provisioner instance on a node with a name of ${length} letters creates the CSIStorageCapacity of its topology`, async (t) => {
    await createClass(t, LATE)
    const here = await site(t, 'n'.repeat(length - t.name('').length), {
      segments: { host: 'a', zone: 'z' },
      args: ['--enable-capacity', '--capacity-ownerref-level=-1'],
      env: { NAMESPACE: t.namespace },
    })
    const object = await eventually('an object', async () => {
      const all = await t.api.list(CSI_STORAGE_CAPACITIES, t.namespace)
      return all.find(({ storageClassName }) => storageClassName === t.name('class'))
    })
    const managedBy = object.metadata?.labels?.['csi.storage.k8s.io/managed-by'] ?? ''
    if (length === 60) ok(/^external-provisioner-[0-9a-f]{8}$/.test(managedBy), managedBy)
    else equal(managedBy, label(here.node))
    equal([object.nodeTopology, object.capacity], [{ matchLabels: { host: 'a', zone: 'z' } }, '1Gi'])
  })
}
