import { deepStrictEqual as equal } from 'node:assert'
import { CSI_NODES, NODES, type TopologySelectorTerm } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import { type Call, createdVolume, type FakeDriver } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import {
  calls,
  claimEvent,
  createClaim,
  createClass,
  createNodes,
  LATE,
  type ProvisionerSetup,
  provision,
  provisionedVolume,
  SELECTED_NODE,
  type Site,
  scene,
} from '../../rows/provisioner/scene.ts'

const test = testsOf('provisioner', 'topology')

const zone = (value: string): Site => ({ labels: { zone: value }, keys: ['zone'] })
const SITES = { a: zone('z1'), b: zone('z2'), c: zone('z3'), copy: zone('z1'), label: { labels: { zone: 'z9' } } }
const zones = (...values: string[]): TopologySelectorTerm => ({ matchLabelExpressions: [{ key: 'zone', values }] })

interface Topologies {
  readonly requisite?: readonly { readonly segments: Readonly<Record<string, string>> }[]
  readonly preferred?: Topologies['requisite']
}

/** Returns requisite and preferred topologies of a request, such as `z1 z2, z2 z1`. Undefined if it has none. */
function topologiesOf({ request }: Call): string | undefined {
  const { requisite, preferred } = (request['accessibility_requirements'] ?? {}) as Topologies
  const topologyText = (list: Topologies['requisite']): string =>
    (list ?? [])
      .map(({ segments }) =>
        Object.entries(segments)
          .sort()
          .map(([, value]) => value)
          .join('/'),
      )
      .join(' ')
  return requisite === undefined ? undefined : `${topologyText(requisite)}, ${topologyText(preferred)}`
}

async function callFor(driver: FakeDriver, uid: string): Promise<Call> {
  const createCall = (): Call | undefined =>
    driver.callsOf('CreateVolume').find(({ request }) => request['name'] === `pvc-${uid}`)
  return await eventually(`a call for ${uid}`, createCall)
}

async function ready(t: TestContext, setup: ProvisionerSetup & { readonly sites?: Readonly<Record<string, Site>> }) {
  const { sites = SITES, ...rest } = setup
  await createNodes(t, sites)
  const at = await scene(t, { topology: true, ...rest })
  await t.watching(at.sidecar, 'nodes', 'csinodes')
  return at
}

interface Asked {
  readonly title: string
  readonly name?: string
  readonly node?: string
  readonly allowed?: TopologySelectorTerm[]
  readonly topologies: string | undefined
}

const ASKED: Readonly<Record<string, readonly Asked[]>> = {
  '': [
    { title: 'the first', name: 'data-0', topologies: 'z1 z2 z3, z1 z2 z3' },
    { title: 'the second', name: 'data-1', topologies: 'z1 z2 z3, z2 z3 z1' },
    { title: 'another claim of a member', name: 'logs-data-1', topologies: 'z1 z2 z3, z2 z3 z1' },
    { title: 'a large index', name: 'data-4294967295', topologies: 'z1 z2 z3, z3 z1 z2' },
    { title: 'allowed', name: 'data-0', allowed: [zones('z8', 'z7')], topologies: 'z7 z8, z8 z7' },
    { title: 'a node', node: 'b', topologies: 'z1 z2 z3, z2 z3 z1' },
    { title: 'an allowed node', node: 'b', allowed: [zones('z1', 'z2')], topologies: 'z1 z2, z2 z1' },
  ],
  '--strict-topology': [
    { title: 'no node', name: 'data-2', topologies: 'z1 z2 z3, z3 z1 z2' },
    { title: 'a node', node: 'b', topologies: 'z2, z2' },
    { title: 'an allowed node', node: 'b', allowed: [zones('z2', 'z3')], topologies: 'z2, z2' },
  ],
  '--immediate-topology=false': [
    { title: 'no node', topologies: undefined },
    { title: 'allowed', name: 'data-0', allowed: [zones('z7', 'z8')], topologies: 'z7 z8, z8 z7' },
    { title: 'a node', node: 'a', topologies: 'z1 z2 z3, z1 z2 z3' },
  ],
  '--feature-gates=Topology=false': [{ title: 'a node', node: 'a', topologies: undefined }],
}

for (const [flag, rows] of Object.entries(ASKED)) {
  test(`binding mode, selected node and class determine the topologies in CreateVolume${flag && `, with ${flag}`}`, async (t) => {
    await createNodes(t, SITES)
    const { driver } = await scene(t, { topology: true, args: flag === '' ? [] : [flag] })
    for (const [index, { title, name = 'x', node, allowed }] of rows.entries()) {
      const late = node === undefined ? {} : LATE
      await createClass(t, { ...late, ...(allowed && { allowedTopologies: allowed }) }, `class-${index}`)
      const uid = await createClaim(t, {
        suffix: `-${index}-${name}`,
        annotations: { [SELECTED_NODE]: node === undefined ? undefined : t.name(node) },
        spec: { storageClassName: t.name(`class-${index}`) },
      })
      equal([title, topologiesOf(await callFor(driver, uid))], [title, rows[index]?.topologies])
    }
  })
}

test('if nodes register different topology keys, CreateVolume gets topologies of each set of keys', async (t) => {
  const sites = {
    a: { keys: ['zone', 'rack'], labels: { zone: 'z1', rack: 'r1' } },
    b: { keys: ['zone'], labels: { zone: 'z2', rack: 'r2' } },
  }
  const { driver } = await ready(t, { sites })
  const call = await callFor(driver, await createClaim(t, { suffix: '-data-0' }))
  equal(topologiesOf(call)?.split(', ')[0], 'z1 z2 r1/z1')
})

test('every combination of values in allowedTopologies is a topology in CreateVolume', async (t) => {
  const expressions = [
    { key: 'zone', values: ['z1', 'z2'] },
    { key: 'rack', values: ['r1', 'r2'] },
  ]
  const allowedTopologies = [{ matchLabelExpressions: expressions }, zones('z3')]
  const { driver } = await ready(t, { class: { allowedTopologies } })
  const call = await callFor(driver, await createClaim(t))
  equal(topologiesOf(call)?.split(', ')[0], 'z3 r1/z1 r1/z2 r2/z1 r2/z2')
})

const PREFIX = 'error generating accessibility requirements: '
const TWO_KEYS = { zone: ['z1', 'z2'], rack: ['r1', 'r2'] }

interface Refusal {
  /** The expected text of the claim's event. `N` stands for the name of the node. */
  readonly text: string
  readonly node?: string
  readonly allowed?: TopologySelectorTerm[]
  readonly args?: readonly string[]
  readonly sites?: Readonly<Record<string, Site>>
}

const REFUSED: readonly Refusal[] = [
  { text: `${PREFIX}no topology key found for node N`, node: 'label' },
  { text: `${PREFIX}no topology key found for node N`, node: 'empty', sites: { empty: { labels: {}, keys: [] } } },
  {
    text: `${PREFIX}topology labels from selected node map[b:2 b-c:1] does not match topology keys from CSINode [zone rack]`,
    node: 'n',
    sites: { n: { keys: ['zone', 'rack'], labels: { 'b-c': '1', b: '2' } } },
  },
  {
    text: `${PREFIX}topology labels from selected node map[] does not match topology keys from CSINode [zone]`,
    node: 'n',
    sites: { n: { keys: ['zone'] } },
  },
  {
    text: `${PREFIX}topology [{zone z1}] from selected node "N" is not in requisite: [[{zone z2}] [{zone z3}]]`,
    node: 'a',
    allowed: [zones('z3', 'z2')],
  },
  {
    text: `${PREFIX}selected node '"N"' topology '[{zone z1}]' is not in allowed topologies: [[{zone z3}] [{zone z2}]]`,
    node: 'a',
    args: ['--strict-topology'],
    allowed: [zones('z3', 'z2')],
  },
  {
    text: `${PREFIX}selected node '"N"' topology '[{zone z9}]' is not in allowed topologies: [[{rack r1} {zone z1}] [{rack r1} {zone z2}] [{rack r2} {zone z1}] [{rack r2} {zone z2}]]`,
    node: 'n',
    args: ['--strict-topology'],
    sites: { n: zone('z9') },
    allowed: [{ matchLabelExpressions: Object.entries(TWO_KEYS).map(([key, values]) => ({ key, values })) }],
  },
  { text: `${PREFIX}no available topology found`, sites: { a: { labels: { zone: 'z1' } } } },
  { text: `${PREFIX}topologyKeys [[zone]] were not found on any nodes`, sites: { a: { labels: {}, keys: ['zone'] } } },
]

for (const { text, node, allowed, ...setup } of REFUSED) {
  test(`an event reports that a claim has no usable topology: ${text}${setup.sites ? '' : ' (usual nodes)'}`, async (t) => {
    const late = node === undefined ? {} : LATE
    const { driver } = await ready(t, { ...setup, class: { ...late, ...(allowed && { allowedTopologies: allowed }) } })
    await createClaim(t, { annotations: { [SELECTED_NODE]: node && t.name(node) } })
    const expected = text.replace(/\bN\b/, t.name(node ?? ''))
    const { type, reason, message } = await claimEvent(t, expected)
    equal([type, reason, message], ['Warning', 'ProvisioningFailed', expected])
    equal(driver.callsOf('CreateVolume').length, 0)
  })
}

for (const [code, kept, label] of [
  [4, true, 'stays the same while the creation may be running'],
  [13, false, 'follows the Nodes after a final gRPC code'],
] as const) {
  test(`the topology in a repeated CreateVolume call ${label}`, async (t) => {
    const { driver } = await ready(t, {
      class: LATE,
      prepare: (each) => each.on('CreateVolume', (_, nth) => (nth < 2 ? { code, message: 'no' } : { reply: {} })),
    })
    const uid = await createClaim(t, { annotations: { [SELECTED_NODE]: t.name('b') } })
    await calls(driver, 'CreateVolume')
    await t.api.merge(NODES, { name: t.name('b') }, { metadata: { labels: { zone: 'z4' } } })
    if (kept) await t.strip(CSI_NODES, { name: t.name('c') })
    await provisionedVolume(t, uid)
    const last = driver.callsOf('CreateVolume').at(-1)
    equal(last && topologiesOf(last), kept ? 'z1 z2 z3, z2 z3 z1' : 'z1 z3 z4, z4 z1 z3')
  })
}

test('the node affinity of the PersistentVolume has the topologies that the driver returns', async (t) => {
  const accessibleTopology = [{ segments: { zone: 'z1', rack: 'r1' } }, { segments: {} }, { segments: { zone: 'z2' } }]
  await ready(t, {
    prepare: (each) =>
      each.on('CreateVolume', ({ request }) => ({ reply: { volume: createdVolume(request, { accessibleTopology }) } })),
  })
  const { spec } = await provision(t)
  const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms?.map(({ matchExpressions }) =>
    matchExpressions?.map(({ key, operator, values }) => `${key} ${operator} ${values}`).sort(),
  )
  equal(terms, [['rack In r1', 'zone In z1'], ['zone In z2']])
})

test('a claim is provisioned at once when the selected node registers the driver', { only: 'ours' }, async (t) => {
  const sites = { a: { labels: { zone: 'z1' } } }
  const { driver } = await ready(t, { sites, class: LATE, args: ['--retry-interval-start=1m'] })
  const uid = await createClaim(t, { annotations: { [SELECTED_NODE]: t.name('a') } })
  await claimEvent(t, 'no topology key found')
  const drivers = [{ name: t.driverName, nodeID: 'a', topologyKeys: ['zone'] }]
  await t.api.merge(CSI_NODES, { name: t.name('a') }, { spec: { drivers } })
  await provisionedVolume(t, uid)
  equal(driver.callsOf('CreateVolume').length, 1)
})
