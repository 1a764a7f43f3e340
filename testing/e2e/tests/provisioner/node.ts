import { deepStrictEqual as equal, ok } from 'node:assert'
import { CSI_STORAGE_CAPACITIES, NODES, PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { userWith } from '../../harness/api/user.ts'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import type { FakeDriver } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import {
  affinityTo,
  calls,
  claimEvent,
  claimRef,
  createClaim,
  createClass,
  createNodes,
  deleted,
  eventsOf,
  GI,
  LATE,
  provision,
  provisionedVolume,
  released,
  SELECTED_NODE,
  unselected,
} from '../../rows/provisioner/scene.ts'
import { CAPACITY_RULES } from './capacity.ts'

const test = testsOf('provisioner', 'node')

interface Site {
  readonly node: string
  readonly driver: FakeDriver
  readonly sidecar: RunningSidecar
}

interface SiteSetup {
  readonly nodeName?: string
  readonly args?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly segments?: Readonly<Record<string, string>>
  readonly prepare?: (driver: FakeDriver) => void
}

/** Starts the driver and the provisioner of one node. */
async function site(t: TestContext, setup: SiteSetup = {}): Promise<Site> {
  const { nodeName = 'a', args = [], env = {}, segments, prepare } = setup
  const node = t.name(nodeName)
  const driver = await t.driver({ controller: ['CREATE_DELETE_VOLUME'], topology: true })
  const accessibleTopology = { segments: segments ?? { host: nodeName } }
  driver.on('NodeGetInfo', { reply: { nodeId: node, maxVolumesPerNode: 0n, accessibleTopology } })
  driver.on('GetCapacity', { reply: { availableCapacity: BigInt(GI) } })
  prepare?.(driver)
  const sidecar = await t.sidecar({
    driver,
    args: ['--node-deployment', '--node-deployment-base-delay=500ms', ...args],
    env: { NODE_NAME: node, ...env },
    user: await userWith(t, CAPACITY_RULES, `role-${nodeName}`),
  })
  await t.watching(sidecar, 'persistentvolumeclaims', 'persistentvolumes', 'storageclasses')
  return { node, driver, sidecar }
}

async function selected(t: TestContext, suffix = ''): Promise<string | undefined> {
  const { metadata } = await t.api.get(PERSISTENT_VOLUME_CLAIMS, claimRef(t, suffix))
  return metadata?.annotations?.[SELECTED_NODE]
}

const select = (t: TestContext, node: string | null): Promise<unknown> =>
  t.api.merge(PERSISTENT_VOLUME_CLAIMS, claimRef(t), { metadata: { annotations: { [SELECTED_NODE]: node } } })

const nodeSelected = (t: TestContext, node: string, suffix = ''): Promise<true> =>
  eventually(`a claim of ${node}`, async () => (await selected(t, suffix)) === node)

const on = (node: string) => ({ annotations: { [SELECTED_NODE]: node } })
const creates = ({ driver }: Pick<Site, 'driver'>): number => driver.callsOf('CreateVolume').length
const segments = (...hosts: string[]) => hosts.map((host) => ({ segments: { host } }))

const OF_A = { requisite: segments('a'), preferred: segments('a') }

test('with --node-deployment, the provisioner on the selected node of a claim creates the volume', async (t) => {
  await createClass(t, LATE)
  const here = await site(t)
  const other = await site(t, { nodeName: 'b' })
  const pv = await provision(t, on(here.node))
  equal([creates(here), creates(other)], [1, 0])
  equal(here.driver.fieldsOf('CreateVolume', 'accessibility_requirements'), [OF_A])
  ok(pv.spec?.csi?.volumeAttributes?.['storage.kubernetes.io/csiProvisionerIdentity']?.endsWith(`-${here.node}`))
  equal(here.sidecar.gate.openWatches('nodes') + here.sidecar.gate.openWatches('csinodes'), 0)
})

test('--strict-topology and --immediate-topology=false do not change the topology of the request', async (t) => {
  await createClass(t, LATE)
  const here = await site(t, { args: ['--strict-topology', '--immediate-topology=false'] })
  await provision(t, on(here.node))
  equal(here.driver.fieldsOf('CreateVolume', 'accessibility_requirements'), [OF_A])
})

test('exactly one provisioner instance selects its node for a claim with immediate binding', async (t) => {
  const parameters = { type: 'ssd', 'csi.storage.k8s.io/fstype': 'xfs' }
  await createClass(t, { parameters })
  const sites = [await site(t), await site(t, { nodeName: 'b' })]
  const uid = await createClaim(t)
  await provisionedVolume(t, uid)
  await provision(t, { suffix: '-later' })
  const createsOf = ({ driver }: Site): number =>
    driver.fieldsOf('CreateVolume', 'name').filter((name) => String(name).endsWith(uid)).length
  const owner = sites.find((each) => createsOf(each) > 0)
  equal(await selected(t), owner?.node)
  equal(sites.map(createsOf).sort(), [0, 1])
  const [call] = owner?.driver.callsOf('GetCapacity') ?? []
  equal(call?.request, {
    accessible_topology: { segments: { host: owner === sites[0] ? 'a' : 'b' } },
    parameters: { type: 'ssd' },
    volume_capabilities: [{ access_mode: { mode: 'SINGLE_NODE_WRITER' }, mount: { fs_type: 'xfs' } }],
  })
})

/** Provisions a claim whose node is selected, which takes no GetCapacity call. Earlier events had their effect before. */
async function provisionSelected(t: TestContext, { node }: Site): Promise<void> {
  await createClass(t, LATE, 'late')
  await provision(t, { ...on(node), suffix: '-later', spec: { storageClassName: t.name('late') } })
}

/** With this flag, a provisioner selects its node without a noticeable delay. */
const AT_ONCE = '--node-deployment-base-delay=1ms'

/** Claims for which the provisioner of a node must not select this node. */
const LEFT: readonly (readonly [claimText: string, classParts: object, args?: readonly string[]])[] = [
  ['with late binding', LATE],
  ['with --node-deployment-immediate-binding=false', {}, ['--node-deployment-immediate-binding=false']],
  [
    'whose class does not allow the node',
    { allowedTopologies: [{ matchLabelExpressions: [{ key: 'host', values: ['b'] }] }] },
  ],
]

for (const [claimText, classParts, args = []] of LEFT) {
  test(`a provisioner instance does not select its node for a claim ${claimText}`, async (t) => {
    await createClass(t, classParts)
    const here = await site(t, { args: [AT_ONCE, ...args] })
    await createClaim(t)
    await provisionSelected(t, here)
    equal([here.driver.callsOf('GetCapacity').length, await selected(t)], [0, undefined])
  })
}

test('a provisioner instance selects its node for a claim whose class allows the topology of the node', async (t) => {
  const expression = { key: 'host', values: ['x', 'a'] }
  await createClass(t, { allowedTopologies: [{ matchLabelExpressions: [expression] }] })
  const here = await site(t)
  await provision(t)
  equal(await selected(t), here.node)
})

test('a provisioner instance on a node without enough capacity does not select this node, and sends no event', async (t) => {
  await createClass(t)
  const here = await site(t, { prepare: (each) => each.on('GetCapacity', { reply: { availableCapacity: 5n } }) })
  await createClaim(t)
  await calls(here.driver, 'GetCapacity')
  await provision(t, { ...on(here.node), suffix: '-later' })
  equal(await selected(t), undefined)
  equal(await eventsOf(t, claimRef(t).name), [])
})

test('a provisioner instance selects its node for a claim although GetCapacity fails', async (t) => {
  await createClass(t)
  const here = await site(t, { prepare: (each) => each.on('GetCapacity', { code: 13, message: 'broken' }) })
  await provision(t)
  equal(await selected(t), here.node)
})

test('a provisioner instance selects its node for a claim with an invalid class, so that an event reports the error', async (t) => {
  await createClass(t, { parameters: { 'csi.storage.k8s.io/x': '1' } })
  const here = await site(t)
  await createClaim(t)
  await nodeSelected(t, here.node)
  await claimEvent(t, 'found unknown parameter key')
})

test('after ResourceExhausted, a claim loses its selected node, and a provisioner instance selects a node again', async (t) => {
  await createClass(t)
  const here = await site(t)
  here.driver.on('CreateVolume', (_, nth) => (nth === 0 ? { code: 8, message: 'full' } : { reply: {} }))
  await provision(t)
  equal([creates(here), here.driver.callsOf('GetCapacity').length], [2, 2])
  await claimEvent(t, 'rpc error: code = ResourceExhausted desc = full')
})

test('a provisioner instance ignores a claim while another node is selected', async (t) => {
  await createClass(t)
  await createClass(t, { parameters: { of: 'later' } }, 'other')
  const here = await site(t, { args: ['--node-deployment-max-delay=500ms'] })
  await createClaim(t)
  await select(t, 'other')
  await t.received(PERSISTENT_VOLUME_CLAIMS, await t.api.get(PERSISTENT_VOLUME_CLAIMS, claimRef(t)))
  const questions = (): number =>
    here.driver.fieldsOf('GetCapacity', 'parameters').filter((parameters) => parameters === undefined).length
  // The GetCapacity calls before this moment do not count: the random delay of the start decides how many there are.
  const before = questions()
  for (const suffix of ['-later', '-last']) await provision(t, { suffix, spec: { storageClassName: t.name('other') } })
  equal(questions(), before)
  await select(t, null)
  await nodeSelected(t, here.node)
})

const strays = testsOf('provisioner', 'node without driver', { only: 'ours' })
const checksOf = ({ sidecar }: Site, name: string): number =>
  sidecar.gate.requestsOf('csinodes').filter((request) => request.name === name).length
const RESCHEDULING = ['--finalize-claims', '--node-deployment-reschedule-after=500ms']

strays(
  'a claim loses a node without the driver once, and the provisioner of the next node creates the volume',
  async (t) => {
    await createClass(t, LATE)
    await createNodes(t, { bare: { labels: {} } })
    const here = await site(t, { args: RESCHEDULING })
    const other = await site(t, { nodeName: 'b', args: RESCHEDULING })
    const uid = await createClaim(t, on(t.name('bare')))
    await unselected(t)
    await claimEvent(t, `has no driver "${t.driverName}"`)
    await select(t, here.node)
    await provisionedVolume(t, uid)
    equal([creates(here), creates(other)], [1, 0])
    const events = (await eventsOf(t, claimRef(t).name)).filter(({ reason }) => reason === 'NodeWithoutDriver')
    equal([events.length, events[0]?.count], [1, 1])
  },
)

strays('a claim keeps a node that has the driver, and a node whose CSINode does not exist yet', async (t) => {
  await createClass(t, LATE)
  await createNodes(t, { known: { labels: {}, keys: ['host'] }, bare: { labels: {} } })
  await t.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: t.name('young') } })
  const here = await site(t, { args: RESCHEDULING })
  for (const name of ['known', 'young']) {
    await createClaim(t, { ...on(t.name(name)), suffix: `-${name}` })
    await eventually(`a check of ${name}`, () => checksOf(here, t.name(name)) > 0)
  }
  // A later claim loses its node.
  await createClaim(t, { ...on(t.name('bare')), suffix: '-bare' })
  await eventually('a claim without a node', async () => (await selected(t, '-bare')) === undefined)
  for (const name of ['known', 'young']) {
    equal(await selected(t, `-${name}`), t.name(name))
    equal(await eventsOf(t, claimRef(t, `-${name}`).name), [])
  }
})

test('a provisioner instance does not delete volumes whose node affinity excludes its node', async (t) => {
  await createClass(t)
  const here = await site(t)
  const other = await released(t, { suffix: 'other', spec: { nodeAffinity: affinityTo('host', 'b') } })
  const ownVolume = await released(t, { suffix: 'own', spec: { nodeAffinity: affinityTo('host', 'a') } })
  const free = await released(t, { suffix: 'free' })
  await deleted(t, ownVolume)
  await deleted(t, free)
  const ids = here.driver.fieldsOf('DeleteVolume', 'volume_id')
  ok(!ids.includes(`${other}-handle`))
})

for (const [length, label] of [
  [10, (node: string) => `external-provisioner-${node}`],
  [45, (node: string) => `external-53f40b57-${node}`],
  [60, () => undefined],
] as const) {
  test(`a provisioner instance on a node with a name of ${length} letters creates the CSIStorageCapacity of its topology`, async (t) => {
    await createClass(t, LATE)
    const nodeName = 'n'.repeat(length - t.name('').length)
    const here = await site(t, {
      nodeName,
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
