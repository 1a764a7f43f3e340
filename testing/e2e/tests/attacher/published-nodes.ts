import { deepStrictEqual as equal, ok } from 'node:assert'
import { isDeepStrictEqual } from 'node:util'
import { VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { attachment } from '../../harness/api/objects.ts'
import type { TestContext } from '../../harness/context.ts'
import type { Call, DriverReply, FakeDriver } from '../../harness/driver/driver.ts'
import { assertContains } from '../../harness/process/sidecar.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import {
  type AttacherScene,
  type AttacherSceneSetup,
  attach,
  attachAndWait,
  attached,
  attachFailed,
  changeOf,
  editStatus,
  getAttachment,
  LISTS,
  publishes,
  scene,
  unpublishes,
  untilAttachment,
  volumeCalls,
} from '../../rows/attacher/scene.ts'

const test = testsOf('attacher', 'published nodes')

const PERIOD_MS = 700

/** Returns one page of ListVolumes. */
function page(volumes: Readonly<Record<string, readonly string[]>>, nextToken = ''): DriverReply {
  const entries = Object.entries(volumes).map(([volumeId, publishedNodeIds]) => ({
    volume: { volumeId, capacityBytes: 0n, volumeContext: {}, accessibleTopology: [] },
    status: { publishedNodeIds },
  }))
  return { reply: { entries, nextToken } }
}

/** Starts an attacher that trusts a single ListVolumes answer, as the Go sidecar does. */
async function comparing(
  t: TestContext,
  setup: AttacherSceneSetup & { list: (driver: FakeDriver) => DriverReply },
): Promise<AttacherScene> {
  const confirmations = t.ours ? ['--reconcile-confirmations=1'] : []
  const { list, prepare, ...rest } = setup
  return scene(t, {
    controller: LISTS,
    ...rest,
    prepare: (driver) => {
      driver.on('ListVolumes', () => list(driver))
      prepare?.(driver)
    },
    args: [`--reconcile-sync=${PERIOD_MS}ms`, ...confirmations, ...(setup.args ?? [])],
  })
}

/** Waits until the driver has answered `count` more calls of ListVolumes. */
async function moreListings(driver: FakeDriver, count: number): Promise<void> {
  const before = driver.callsOf('ListVolumes').length
  const answered = (): number =>
    driver
      .callsOf('ListVolumes')
      .slice(before)
      .filter(({ end }) => end !== undefined).length
  await eventually(`${count} more listings`, () => answered() >= count)
}

const errorsAbout = ({ attacher }: AttacherScene, name: string): string[] =>
  attacher.linesWith(name).filter((line) => line.startsWith('E'))

test('the attacher does not call ListVolumes if the driver lacks LIST_VOLUMES or LIST_VOLUMES_PUBLISHED_NODES', async (t) => {
  const node = await t.createNode()
  for (const missing of ['LIST_VOLUMES', 'LIST_VOLUMES_PUBLISHED_NODES']) {
    const driver = await t.driver({ controller: LISTS.filter((name) => name !== missing) })
    const sidecar = await t.running({ driver, args: ['--reconcile-sync=200ms'] }, 'volumeattachments', 'csinodes')
    // A driver with both capabilities gets ListVolumes at the start, before the first publish.
    await attachAndWait(t, { node }, { suffix: `-without-${missing.toLowerCase().replaceAll('_', '-')}` })
    equal(driver.callsOf('ListVolumes'), [])
    await sidecar.endBy('SIGKILL')
  }
})

test('the attacher calls ListVolumes at its start, and then one period after the end of each listing', async (t) => {
  const { driver, attacher } = await comparing(t, { list: () => page({}) })
  await attacher.line(
    'CSI driver supports list volumes published nodes. Using capability to reconcile volume attachment objects with actual backend state',
  )
  await eventually('five listings', () => driver.callsOf('ListVolumes').length >= 5)
  const lists = driver.callsOf('ListVolumes')
  ok((lists[0]?.start ?? Infinity) - attacher.started < 10_000)
  for (const [index, { start }] of lists.slice(2).entries()) {
    const gap = start - (lists[index + 1]?.end ?? 0)
    ok(gap > PERIOD_MS * 0.9 && gap < PERIOD_MS + 5000, `gap of ${gap} ms`)
  }
})

test('the attacher reads all pages of ListVolumes, with the page size in --max-entries', async (t) => {
  const { driver, node } = await comparing(t, { list: () => page({}), args: ['--max-entries=2', '--timeout=30s'] })
  const handle = `${t.name('pv')}-handle`
  driver.on('ListVolumes', ({ request }) => {
    if (request['starting_token'] === undefined) return page({ a: [] }, 'two')
    return request['starting_token'] === 'two' ? page({ b: ['x'] }, 'three') : page({ [handle]: [`${node}-id`] })
  })
  await attachAndWait(t, { node })
  const before = volumeCalls(driver).length
  await moreListings(driver, 9)
  equal(volumeCalls(driver).length, before)
  const lists = driver.callsOf('ListVolumes')
  const tokens = lists.slice(-30).map(({ request }) => request['starting_token'])
  ok(tokens.includes('two') && tokens.includes('three'))
  for (const { request, timeoutMs } of lists) {
    equal(request['max_entries'], 2)
    ok(timeoutMs > 25_000 && timeoutMs <= 30_050, `${timeoutMs}`)
  }
})

test('an attached volume that ListVolumes does not show is logged as an error and published again in each period', async (t) => {
  // ListVolumes shows the volume on another node only, so the attacher must publish the volume again.
  const listed: Record<string, string[]> = { [`${t.name('pv')}-handle`]: ['elsewhere'] }
  const at = await comparing(t, {
    list: () => page(listed),
    prepare: (driver) =>
      driver.on('ControllerPublishVolume', (_, nth) => ({ reply: { publishContext: { nth: String(nth) } } })),
  })
  const { va } = await attachAndWait(t, at)
  const before = volumeCalls(at.driver).length
  await eventually('three forced publishes', () => volumeCalls(at.driver).length >= before + 3)
  const line = await at.attacher.line('VolumeAttachment attached status and actual state do not match')
  assertContains(
    line,
    '"VolumeAttachment attached status and actual state do not match. Adding back to VolumeAttachment queue for forced reprocessing"',
    `VolumeAttachment="${va}"`,
    `volumeHandle="${t.name('pv')}-handle"`,
    'attachedStatus=true',
    'found=false',
  )
  ok(line.startsWith('E'), line)
  const { status } = await getAttachment(t)
  ok(Number(status?.attachmentMetadata?.['nth']) > 0, 'the metadata is replaced')
  listed[`${t.name('pv')}-handle`] = ['elsewhere', `${at.node}-id`]
  await moreListings(at.driver, 2)
  const after = volumeCalls(at.driver).length
  await moreListings(at.driver, 3)
  equal(volumeCalls(at.driver).length, after)
})

test('a repeated publish with the same result does not change the VolumeAttachment', async (t) => {
  const at = await comparing(t, { list: () => page({}) })
  await attachAndWait(t, at)
  if (t.ours) {
    const writes = (await at.attacher.gate.settledWrites()).length
    await eventually('two forced publishes', () => volumeCalls(at.driver).length >= 3)
    await moreListings(at.driver, 1)
    equal(at.attacher.gate.writes().length, writes)
    return
  }
  const empty = (): boolean =>
    at.attacher.gate.writes('volumeattachments/status').some((each) => JSON.stringify(changeOf(t, each)) === '{}')
  await eventually('an empty patch', empty)
})

test('a VolumeAttachment stays attached if the repeated publish of its volume fails', async (t) => {
  // Our attacher also retries after the back-off, so the back-off is long.
  const at = await comparing(t, { list: () => page({}), args: [`--retry-interval-start=${t.ours ? '30s' : '100ms'}`] })
  await attachAndWait(t, at)
  at.driver.on('ControllerPublishVolume', { code: 13, message: 'no' })
  const { status } = await attachFailed(t, 'no')
  equal(status?.attached, true)
  const failures = (): readonly Call[] => publishes(at).filter(({ code }) => code === 13)
  await eventually('a second', () => failures().length > 1)
  const [first = 0, second = 0] = failures().map(({ start }) => start)
  ok(second - first > PERIOD_MS * 0.7, `tried again after ${second - first} ms`)
  equal((await getAttachment(t)).status?.attached, true)
})

test('a CSI inline volume missing in ListVolumes causes no second publish and no error in the log', async (t) => {
  const at = await comparing(t, { list: () => page({}) })
  const csi = { driver: t.driverName, volumeHandle: t.name('inline') }
  const source = { inlineVolumeSpec: { accessModes: ['ReadWriteOnce'], csi } }
  await t.createAttachment('va', { node: at.node, source })
  await attached(t)
  const listings = at.driver.callsOf('ListVolumes').length
  await eventually('two more listings', () => at.driver.callsOf('ListVolumes').length > listings + 2)
  equal(volumeCalls(at.driver).length, 1)
  if (t.ours) equal(errorsAbout(at, t.name('va')), [])
})

test('a repeated publish replaces the whole attachmentMetadata', { only: 'ours' }, async (t) => {
  const at = await comparing(t, {
    list: () => page({}),
    prepare: (driver) => driver.on('ControllerPublishVolume', { reply: { publishContext: { a: '1' } } }),
  })
  await attachAndWait(t, at)
  at.attacher.gate.muteWatches()
  await editStatus(t, { attachmentMetadata: { earlier: 'x' } })
  at.driver.on('ControllerPublishVolume', { reply: { publishContext: { b: '2' } } })
  await untilAttachment(t, ({ status }) => isDeepStrictEqual(status?.attachmentMetadata, { b: '2' }))
})

test('a deleted VolumeAttachment is unpublished again if ListVolumes still shows its volume', async (t) => {
  const listed: Record<string, string[]> = { [`${t.name('pv')}-handle`]: [`${t.name('node')}-id`] }
  const at = await comparing(t, { list: () => page(listed) })
  const { va } = await attachAndWait(t, at, { va: { metadata: { finalizers: ['example.com/keep'] } } })
  await t.api.delete(VOLUME_ATTACHMENTS, { name: va })
  await untilAttachment(t, ({ status }) => status?.attached === false)
  await eventually('another unpublish', () => unpublishes(at).length >= 2)
})

test('a failed ListVolumes is logged as an error, and the next ListVolumes comes one period later', async (t) => {
  const at = await comparing(t, { list: () => ({ code: 13, message: 'broken' }) })
  const line = await at.attacher.line('Failed to reconcile VolumeAttachment')
  const text = 'failed to ListVolumes: failed to list volumes: rpc error: code = Internal desc = broken'
  assertContains(line, `"Failed to reconcile VolumeAttachment" err="${text}"`)
  ok(line.startsWith('E'))
  await eventually('more listings', () => at.driver.callsOf('ListVolumes').length >= 3)
})

test('the attacher skips entries of ListVolumes without volume or status', async (t) => {
  const at = await comparing(t, { list: () => page({}) })
  const status = { publishedNodeIds: [`${at.node}-id`] }
  const volume = { volumeId: `${t.name('pv')}-handle`, capacityBytes: 0n, volumeContext: {}, accessibleTopology: [] }
  at.driver.on('ListVolumes', { reply: { entries: [{ volume: undefined, status }, { volume }] } })
  await attachAndWait(t, at)
  const before = volumeCalls(at.driver).length
  await eventually('a forced publish', () => volumeCalls(at.driver).length > before)
})

test('the comparison with ListVolumes ignores attachments of other attachers and attachments to missing nodes', async (t) => {
  const at = await comparing(t, { list: () => page({}) })
  await t.create(VOLUME_ATTACHMENTS, attachment(t.name('other'), `not-${t.driverName}`, { pv: 'x', node: at.node }))
  await attach(t, { node: t.name('nowhere') }, { suffix: '-a' })
  await attachAndWait(t, at, { suffix: '-b' })
  const forB = (): number =>
    volumeCalls(at.driver).filter(({ request }) => request['volume_id'] === `${t.name('pv-b')}-handle`).length
  const before = forB()
  await eventually('two forced publishes', () => forB() > before + 1)
  equal(errorsAbout(at, t.name('other')), [])
})
