import { deepStrictEqual as equal, ok } from 'node:assert'
import { inParallel } from '@csi-sidecars/base'
import {
  CLUSTER_ROLES,
  CSI_NODES,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
} from '@csi-sidecars/kube-types'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { claim, csiNode, volume } from '../../harness/api/objects.ts'
import { userWith } from '../../harness/api/user.ts'
import type { RunningSidecar, SidecarSetup, TestContext } from '../../harness/context.ts'
import type { FakeDriver } from '../../harness/driver/driver.ts'
import { memoryOf } from '../../harness/process/memory.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import { outline } from '../../rows/attacher/scene.ts'
import {
  ask,
  type BoundClaim,
  type BoundParts,
  createBoundClaim,
  eventsOf,
  getClaim,
  resized,
} from '../../rows/resizer/scene.ts'

type NodeAffinity = NonNullable<PersistentVolume['spec']>['nodeAffinity']

/** One node with its driver and its resizer. */
interface Site {
  readonly node: string
  readonly driver: FakeDriver
  readonly resizer: RunningSidecar
}

/** The RBAC rules of the chart for `--node-deployment`, which contain no rule for Leases. */
const RULES = [
  ...FACTS.resizer.rules.filter(({ resources }) => !resources.includes('leases')),
  ...(FACTS.resizer.nodeRules ?? []),
]

const nodeKey = (t: TestContext): string => `${t.driverName}/node`
const zoneKey = (t: TestContext): string => `${t.driverName}/zone`

/** Creates a Node with two labels: the node's name, and a zone that all nodes share. Registers the driver on the node. */
export async function createSite(t: TestContext, suffix = 'a'): Promise<string> {
  const name = t.name(suffix)
  const labels = { [nodeKey(t)]: name, [zoneKey(t)]: 'east' }
  await t.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } })
  await t.create(CSI_NODES, csiNode(name, { [t.driverName]: name }, [nodeKey(t), zoneKey(t)]))
  return name
}

export function nodeDriver(t: TestContext): Promise<FakeDriver> {
  return t.driver({ controller: ['EXPAND_VOLUME', 'MODIFY_VOLUME'] })
}

function startResizer(t: TestContext, node: string, setup: SidecarSetup): Promise<RunningSidecar> {
  return t.sidecar({ ...setup, args: ['--node-deployment'], env: { NODE_NAME: node } })
}

/** Creates nodes with these names, each with a driver and a running resizer. */
async function sites<N extends readonly string[]>(
  t: TestContext,
  ...names: N
): Promise<{ readonly [K in keyof N]: Site }> {
  const user = await userWith(t, RULES)
  await t.createClass()
  const started = names.map(async (name): Promise<Site> => {
    const node = await createSite(t, name)
    const driver = await nodeDriver(t)
    const resizer = await startResizer(t, node, { driver, user })
    await t.watching(resizer, 'persistentvolumeclaims', 'persistentvolumes')
    return { node, driver, resizer }
  })
  return (await Promise.all(started)) as { [K in keyof N]: Site }
}

/** Returns the node affinity that a driver with this topology writes into its volumes. */
export function onNodes(t: TestContext, ...nodes: readonly string[]): NodeAffinity {
  return selecting(nodeKey(t), ...nodes)
}

function selecting(key: string, ...values: readonly string[]): NodeAffinity {
  const matchExpressions = [{ key, operator: 'In', values: [...values] }]
  return { required: { nodeSelectorTerms: [{ matchExpressions }] } }
}

export function boundOn(t: TestContext, nodeAffinity: NodeAffinity, fields: BoundParts = {}): Promise<BoundClaim> {
  return createBoundClaim(t, { ...fields, pv: { ...fields.pv, ...(nodeAffinity && { nodeAffinity }) } })
}

const LATER_SUFFIX = '-later-'

/** Returns the handles of the expanded volumes, sorted, without those of later work. */
function expanded({ driver }: Pick<Site, 'driver'>): string[] {
  const handles = driver.fieldsOf('ControllerExpandVolume', 'volume_id').map(String)
  return handles.filter((handle) => !handle.includes(LATER_SUFFIX)).sort()
}

/** Expands another claim on each node. Earlier events had their effect before. */
async function laterWork(t: TestContext, all: readonly Site[]): Promise<void> {
  for (const { node, driver } of all) {
    const suffix = `${LATER_SUFFIX}${node}-${driver.calls.length}`
    const { pvc } = await boundOn(t, onNodes(t, node), { suffix })
    await ask(t, '2Gi', pvc)
    await resized(t, '2Gi', pvc)
  }
}

const test = testsOf('resizer', 'node deployment', { only: 'ours' })

const CLAIMS_OF_EACH = 100
const AT_A_TIME = 20

test('three resizers expand 300 claims, each once and on the node of its volume', { within: 180_000 }, async (t) => {
  const [a, b, c] = await sites(t, 'a', 'b', 'c')
  const made: { readonly site: Site; readonly boundClaim: BoundClaim }[] = []
  for (const site of [a, b, c]) {
    await inParallel(AT_A_TIME, Array(CLAIMS_OF_EACH).keys(), async (index) => {
      made.push({ site, boundClaim: await boundOn(t, onNodes(t, site.node), { suffix: `-${site.node}-${index}` }) })
    })
  }
  const askAll = (size: string): Promise<void> =>
    inParallel(AT_A_TIME, made, ({ boundClaim }) => ask(t, size, boundClaim.pvc))
  const untilDone = async (size: string, of: readonly Site[]): Promise<void> => {
    for (const { site, boundClaim } of made) if (of.includes(site)) await resized(t, size, boundClaim.pvc)
  }
  const handles = ({ node }: Site, times: number): string[] =>
    made
      .filter(({ site }) => site.node === node)
      .flatMap(({ boundClaim }) => Array.from({ length: times }, () => `${boundClaim.pv}-handle`))
      .sort()

  await askAll('2Gi')
  await untilDone('2Gi', [a, b, c])
  for (const site of [a, b, c]) equal(expanded(site), handles(site, 1))

  await b.resizer.endBy('SIGKILL')
  await askAll('3Gi')
  await untilDone('3Gi', [a, c])
  await laterWork(t, [a, c])
  equal([expanded(a), expanded(b), expanded(c)], [handles(a, 2), handles(b, 1), handles(c, 2)])

  const { node, driver, resizer } = b
  const again = await startResizer(t, node, { driver, user: resizer.user })
  await untilDone('3Gi', [b])
  equal([expanded(a), expanded(b), expanded(c)], [handles(a, 2), handles(b, 2), handles(c, 2)])

  for (const { gate } of [a.resizer, c.resizer, again]) {
    const leases = gate.requestsOf('leases')
    equal(leases, [])
    const others = gate.requests.filter(({ resource, code }) => resource !== 'discovery' && code === 403)
    equal(others, [])
  }
})

test('the resizer on a node does not expand a volume whose node affinity allows several nodes', async (t) => {
  const [a, b] = await sites(t, 'a', 'b')
  const left = 'Volume is left alone'
  const everywhere = await boundOn(t, undefined, { suffix: '-everywhere' })
  const zone = await boundOn(t, selecting(zoneKey(t), 'east'), { suffix: '-zone' })
  const two = await boundOn(t, onNodes(t, a.node, b.node), { suffix: '-two' })
  const elsewhere = await boundOn(t, onNodes(t, t.name('c')), { suffix: '-elsewhere' })
  for (const { pvc } of [everywhere, zone, two, elsewhere]) await ask(t, '2Gi', pvc)
  for (const { resizer } of [a, b]) {
    for (const { pv } of [everywhere, zone, two])
      await resizer.line(`${left}: it needs a resizer without --node-deployment" PV="${pv}"`)
  }
  await laterWork(t, [a, b])
  for (const { resizer, driver } of [a, b]) {
    equal(expanded({ driver }), [])
    const linesAbout = ({ pv }: BoundClaim): number =>
      resizer.linesWith(left).filter((line) => line.includes(`"${pv}"`)).length
    equal([everywhere, zone, two, elsewhere].map(linesAbout), [1, 1, 1, 0])
    equal(JSON.parse((await resizer.http('/debug/stuck')).text).items, [])
    const writes = resizer.gate.writes('persistentvolumeclaims/status', 'persistentvolumes', 'events')
    equal(
      outline(
        t,
        writes.filter(({ bytes, name = '' }) => !`${name} ${bytes}`.includes(LATER_SUFFIX)),
      ),
      [],
    )
  }
  for (const { pvc } of [everywhere, zone, two]) equal(await eventsOf(t, pvc), [])

  // The test uses the volume without node affinity, because Kubernetes does not allow changes of an affinity.
  await t.api.merge(PERSISTENT_VOLUMES, { name: everywhere.pv }, { spec: { nodeAffinity: onNodes(t, b.node) } })
  await resized(t, '2Gi', everywhere.pvc)
  equal([expanded(a), expanded(b)], [[], [`${everywhere.pv}-handle`]])
})

test('the resizer on a node follows changes of the labels of its Node', async (t) => {
  const [a] = await sites(t, 'a')
  const label = (value: string | null): Promise<unknown> =>
    t.api.merge(NODES, { name: a.node }, { metadata: { labels: { [nodeKey(t)]: value } } })
  await label(null)
  await a.resizer.line('The node of this process has changed')
  await boundOn(t, onNodes(t, a.node))
  await ask(t, '2Gi')
  await t.received(PERSISTENT_VOLUME_CLAIMS, await getClaim(t))
  equal(expanded(a), [])
  await label(a.node)
  await resized(t, '2Gi')
  ok(a.resizer.exit === undefined)
})

const starts = testsOf('resizer', 'node deployment, start', { only: 'ours' })

for (const [plural, group] of [
  ['nodes', ''],
  ['csinodes', 'storage.k8s.io'],
] as const) {
  starts(`without permission to watch ${plural}, the resizer logs the missing permission once`, async (t) => {
    const node = await createSite(t)
    const user = await userWith(
      t,
      RULES.filter(({ resources }) => !resources.includes(plural)),
    )
    const resizer = await startResizer(t, node, { driver: await nodeDriver(t), user })
    const line = await resizer.line('A permission is missing')
    const rule = `${plural}${group && `.${group}`}: get, list, watch`
    ok(line.endsWith(` rule="${rule}"`), line)
    equal((await resizer.http('/readyz')).code, 503)
    equal((await resizer.http('/livez')).code, 200)
    await t.api.merge(CLUSTER_ROLES, { name: t.name('role') }, { rules: RULES })
    await eventually('readiness', async () => (await resizer.http('/readyz')).code === 200, { within: 40_000 })
    equal(resizer.lines.filter((each) => each.startsWith('E')).length, 1)
  })
}

const memory = testsOf('resizer', 'node deployment, memory', { only: 'ours' })

const FOREIGN = 10_000
/** How long a resizer runs until its memory is measured. */
const SETTLED_MS = 15_000

memory(
  '10,000 volumes of another node increase the memory of the resizer on a node by less than 10 %',
  { long: true, alone: 'machine', within: 300_000 },
  async (t) => {
    const node = await createSite(t)
    const other = t.name('b')
    await t.createClass()
    const setup = { driver: await nodeDriver(t), user: await userWith(t, RULES) }
    const settled = async (): Promise<number> => {
      const resizer = await startResizer(t, node, setup)
      await t.watching(resizer, 'persistentvolumeclaims', 'persistentvolumes')
      await pause(SETTLED_MS)
      const memory = memoryOf(resizer.pid).rss
      await resizer.endBy('SIGTERM')
      return memory
    }
    const without = await settled()
    try {
      await createForeign(t, other)
      const beside = await settled()
      ok(beside < without * 1.1, `${beside} MiB, and ${without} MiB without`)
    } finally {
      const selected = `?labelSelector=${encodeURIComponent(`test=${t.id}`)}`
      await t.api.call('DELETE', `/api/v1/persistentvolumes${selected}`)
      await t.api.call('DELETE', `/api/v1/namespaces/${t.namespace}/persistentvolumeclaims${selected}`)
    }
  },
)

async function createForeign(t: TestContext, node: string): Promise<void> {
  const metadata = { labels: { test: t.id } }
  const storageClassName = t.name('class')
  await inParallel(AT_A_TIME, Array(FOREIGN).keys(), async (index) => {
    const name = t.name(`foreign-${index}`)
    const desiredClaim = claim(t.namespace, name, { metadata, storageClassName, volumeName: name })
    const { uid } = (await t.api.create(PERSISTENT_VOLUME_CLAIMS, desiredClaim)).metadata ?? {}
    const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: t.namespace, name, uid }
    const fields = { metadata, storageClassName, claimRef, nodeAffinity: onNodes(t, node) }
    await t.api.create(PERSISTENT_VOLUMES, volume(name, t.driverName, fields))
  })
}
