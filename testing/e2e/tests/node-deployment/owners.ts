import { deepStrictEqual as equal, ok } from 'node:assert'
import { inParallel } from '@csi-sidecars/base'
import { NODES, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import { outline } from '../attacher/scene.ts'
import { createTier, modify } from '../resizer/modify-scene.ts'
import { ask, type Bound, eventsOf, getClaim, resized } from '../resizer/scene.ts'
import { boundOn, expanded, nodeKey, onNodes, recreateOn, selecting, sites, startResizer, zoneKey } from './scene.ts'

const test = testsOf('resizer', 'node deployment', { only: 'ours' })

const CLAIMS_OF_EACH = 100
const AT_A_TIME = 20
/** Longer than an instance needs to notice a volume that is its own. */
const FOR_MISTAKES_MS = 2_500

test('three instances expand 300 claims, each by the driver of its node, once', { within: 180_000 }, async (t) => {
  const [a, b, c] = await sites(t, 'a', 'b', 'c')
  if (!a || !b || !c) throw new Error('three sites')
  const made: { readonly site: typeof a; readonly bound: Bound }[] = []
  for (const site of [a, b, c]) {
    await inParallel(AT_A_TIME, Array(CLAIMS_OF_EACH).keys(), async (index) => {
      made.push({ site, bound: await boundOn(t, onNodes(t, site.node), { suffix: `-${site.node}-${index}` }) })
    })
  }
  const askAll = (size: string): Promise<void> => inParallel(AT_A_TIME, made, ({ bound }) => ask(t, size, bound.pvc))
  const untilDone = async (size: string, of: readonly (typeof a)[]): Promise<void> => {
    for (const { site, bound } of made) if (of.includes(site)) await resized(t, size, bound.pvc)
  }
  const handles = ({ node }: typeof a, times: number): string[] =>
    made
      .filter(({ site }) => site.node === node)
      .flatMap(({ bound }) => Array.from({ length: times }, () => `${bound.pv}-handle`))
      .sort()

  await askAll('2Gi')
  await untilDone('2Gi', [a, b, c])
  for (const site of [a, b, c]) equal(expanded(site), handles(site, 1))

  await b.resizer.endBy('SIGKILL')
  await askAll('3Gi')
  await untilDone('3Gi', [a, c])
  await pause(FOR_MISTAKES_MS)
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

test('an instance takes over a volume that is recreated on its node', async (t) => {
  const [a, b] = await sites(t, 'a', 'b')
  if (!a || !b) throw new Error('two sites')
  const made = await boundOn(t, onNodes(t, a.node))
  // While its volume is away nothing can be done, and afterwards no other writer changes the claim.
  for (const size of ['2Gi', '3Gi']) {
    await ask(t, size)
    await resized(t, size)
  }
  equal([expanded(a).length, expanded(b).length], [2, 0])
  const before = await getClaim(t)
  await recreateOn(t, made, onNodes(t, b.node))
  await ask(t, '4Gi')
  await resized(t, '4Gi')
  equal([expanded(a).length, expanded(b).length], [2, 1])
  equal((await getClaim(t)).metadata?.uid, before.metadata?.uid)
})

test('an instance finds the claim of a volume that comes to its node, though nothing changes the claim', async (t) => {
  const [a, b] = await sites(t, 'a', 'b')
  if (!a || !b) throw new Error('two sites')
  a.driver.on('ControllerExpandVolume', { code: 14, message: 'this node is broken' })
  const made = await boundOn(t, onNodes(t, a.node))
  await ask(t, '2Gi')
  await eventually('a call', () => expanded(a).length > 0)
  await recreateOn(t, made, onNodes(t, b.node))
  await resized(t, '2Gi')
  equal(expanded(b), [`${made.pv}-handle`])
})

test('a class is applied by the driver of the node', async (t) => {
  t.requires('volumeattributesclasses')
  const [a, b] = await sites(t, 'a', 'b')
  if (!a || !b) throw new Error('two sites')
  await createTier(t, 'gold')
  await boundOn(t, onNodes(t, b.node))
  await modify(t, 'gold')
  const calls = [a, b].map(({ driver }) => driver.callsOf('ControllerModifyVolume').length)
  equal(calls, [0, 1])
})

test('a volume that no node owns is left alone, and each instance logs it once', async (t) => {
  const [a, b] = await sites(t, 'a', 'b')
  if (!a || !b) throw new Error('two sites')
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
  await pause(FOR_MISTAKES_MS)
  for (const { resizer, driver } of [a, b]) {
    equal(driver.callsOf('ControllerExpandVolume'), [])
    const linesAbout = ({ pv }: Bound): number =>
      resizer.linesWith(left).filter((line) => line.includes(`"${pv}"`)).length
    equal([everywhere, zone, two, elsewhere].map(linesAbout), [1, 1, 1, 0])
    equal(JSON.parse((await resizer.http('/debug/stuck')).text).items, [])
    const writes = resizer.gate.writes('persistentvolumeclaims/status', 'persistentvolumes', 'events')
    equal(outline(t, writes), [])
  }
  for (const { pvc } of [everywhere, zone, two]) equal(await eventsOf(t, pvc), [])

  // Kubernetes allows to add an affinity, not to change one.
  await t.api.merge(PERSISTENT_VOLUMES, { name: everywhere.pv }, { spec: { nodeAffinity: onNodes(t, b.node) } })
  await resized(t, '2Gi', everywhere.pvc)
  equal([expanded(a), expanded(b)], [[], [`${everywhere.pv}-handle`]])
})

test('an instance follows the labels of its Node', async (t) => {
  const [a] = await sites(t, 'a')
  if (!a) throw new Error('a site')
  const label = (value: string | null): Promise<unknown> =>
    t.api.merge(NODES, { name: a.node }, { metadata: { labels: { [nodeKey(t)]: value } } })
  await label(null)
  await a.resizer.line('The node of this process has changed')
  await boundOn(t, onNodes(t, a.node))
  await ask(t, '2Gi')
  await pause(FOR_MISTAKES_MS)
  equal(expanded(a), [])
  await label(a.node)
  await resized(t, '2Gi')
  ok(a.resizer.exit === undefined)
})
