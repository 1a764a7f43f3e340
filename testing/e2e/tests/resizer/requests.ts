import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { EVENTS, type Event, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import {
  afterLaterWork,
  ask,
  type BoundParts,
  createBoundClaim,
  eventsOf,
  expands,
  getClaim,
  grown,
  patchStatus,
  type ResizerScene,
  type ResizerSetup,
  raised,
  resized,
  scene,
  sizesOf,
  triesBeforeOthers,
  untilEvent,
  usedBy,
} from '../../rows/resizer/scene.ts'

const test = testsOf('resizer', 'resize')

const NOT_OURS: readonly (readonly [label: string, fields: (t: TestContext) => BoundParts])[] = [
  ['a volume of another driver', () => ({ pv: { csi: { driver: 'other.example.com' } } })],
  ['a volume that is not CSI', () => ({ pv: { csi: null, hostPath: { path: '/x' } } })],
  [
    'a volume bound to another claim',
    (t) => ({ pv: { claimRef: { namespace: 'default', name: t.name('pvc'), uid: 'another' } } }),
  ],
  [
    'a claim with our name as its resizer, but a volume of another driver,',
    (t) => ({
      claim: { metadata: { annotations: { 'volume.kubernetes.io/storage-resizer': t.driverName } } },
      pv: { csi: { driver: 'other.example.com' } },
    }),
  ],
]

for (const [label, fields] of NOT_OURS) {
  test(`${label} causes no driver call and no API write`, async (t) => {
    const at = await scene(t)
    await raised(t, fields(t))
    equal(await afterLaterWork(t, at), { calls: [], writes: [] })
  })
}

test('an unbound claim causes no driver call', async (t) => {
  const at = await scene(t)
  await grown(t)
  const before = expands(at).length
  await patchStatus(t, t.name('pvc'), { status: { phase: 'Lost', capacity: { storage: '1Gi' } } })
  equal((await afterLaterWork(t, at)).calls.length, before)
})

test('a claim with a missing volume is logged as an error and retried with backoff', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=300ms'] })
  const { pv } = await createBoundClaim(t)
  await t.remove(PERSISTENT_VOLUMES, { name: pv })
  await ask(t, '2Gi')
  const text = `"Error syncing PVC" err="PV \\"${pv}\\" bound to pvc \\"default/${t.name('pvc')}\\" not found"`
  ok((await at.resizer.line(text)).startsWith('E'))
  await eventually('retries', () => at.resizer.linesWith(text).length >= 3)
})

test('a larger size that is requested during an expansion is expanded after the first size', async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerExpandVolume', { reply: {}, after: 700 })
  await raised(t)
  await eventually('a call', () => expands(at).length > 0)
  await ask(t, '3Gi')
  await resized(t, '3Gi')
  equal([...new Set(sizesOf(at))], [2, 3])
  ok(
    expands(at).every(({ start }, index, all) => start >= (all[index - 1]?.end ?? 0)),
    'one at a time',
  )
})

test('ten claims are expanded in parallel by default', async (t) => {
  const at = await scene(t, { args: ['--kube-api-qps=1000', '--kube-api-burst=1000'] })
  const { promise: after, resolve: answer } = Promise.withResolvers<void>()
  at.driver.on('ControllerExpandVolume', { reply: {}, after })
  const pvcs: string[] = []
  for (let nth = 0; nth < 12; nth += 1) pvcs.push((await createBoundClaim(t, { suffix: `-${nth}` })).pvc)
  await Promise.all(pvcs.map((pvc) => ask(t, '2Gi', pvc)))
  // The first ten calls end only after the resizer has all requests, so an eleventh call would have begun.
  for (const pvc of pvcs) await t.received(PERSISTENT_VOLUME_CLAIMS, await getClaim(t, pvc))
  await eventually('ten calls', () => expands(at).length >= 10)
  answer()
  for (const pvc of pvcs) await resized(t, '2Gi', pvc)
  const runningAt = (time: number): number =>
    expands(at).filter(({ start, end = Infinity }) => start <= time && end > time).length
  equal(Math.max(...expands(at).map(({ start }) => runningAt(start))), 10)
})

test('the resizer makes no driver call with --workers=0', async (t) => {
  const at = await scene(t, { args: ['--workers=0'] })
  await raised(t)
  await t.received(PERSISTENT_VOLUME_CLAIMS, await getClaim(t))
  equal(expands(at), [])
  equal(at.resizer.exit, undefined)
})

test('a claim that is deleted during ControllerExpandVolume does not end the resizer', async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerExpandVolume', { reply: {}, after: 700 })
  const { pvc } = await raised(t)
  await eventually('a call', () => expands(at).length > 0)
  await t.api.delete(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: pvc })
  await grown(t, { suffix: '-b' })
  equal(at.resizer.exit, undefined)
})

const inUse = testsOf('resizer', 'in use')

const OFFLINE_ONLY = { code: 9, message: 'in use' }
const EXPANDED = { reply: {} }

async function refusedOnce(t: TestContext, setup: ResizerSetup = {}): Promise<ResizerScene> {
  const at = await scene(t, { args: ['--retry-interval-start=400ms', '--retry-interval-max=400ms'], ...setup })
  at.driver.on('ControllerExpandVolume', OFFLINE_ONLY)
  await createBoundClaim(t)
  return at
}

const offline = (t: TestContext): string =>
  `Warning VolumeResizeFailed Unable to expand default/${t.name('pvc')} because CSI driver ${t.driverName} only supports offline expansion and volume is currently in-use`

inUse('after FailedPrecondition, a claim is not expanded until the pod that uses the claim is deleted', async (t) => {
  const at = await refusedOnce(t)
  await usedBy(t)
  await ask(t, '2Gi')
  await untilEvent(t, 'only supports offline expansion')
  ok((await eventsOf(t)).includes(offline(t)), `${await eventsOf(t)}`)
  const before = (await triesBeforeOthers(t, at, OFFLINE_ONLY)).length
  ok(before <= 2, `${before} calls`)
  equal((await triesBeforeOthers(t, at, OFFLINE_ONLY)).length, before)
  at.driver.on('ControllerExpandVolume', EXPANDED)
  const gone = Date.now()
  await t.api.delete(PODS, { namespace: 'default', name: t.name('pod') })
  await resized(t, '2Gi')
  ok(Date.now() - gone < 10_000)
})

inUse('a pod that has ended does not stop the expansion of its claim after FailedPrecondition', async (t) => {
  const at = await refusedOnce(t)
  await usedBy(t)
  const ended = await t.api.merge(
    PODS,
    { namespace: 'default', name: t.name('pod'), subresource: 'status' },
    { status: { phase: 'Succeeded' } },
  )
  await t.received(PODS, ended)
  await ask(t, '2Gi')
  await eventually('more calls', () => expands(at).length >= 4)
})

inUse('a pod of another namespace or another claim does not stop an expansion after FailedPrecondition', async (t) => {
  const at = await refusedOnce(t)
  await usedBy(t, 'pod', t.name('other'))
  await ask(t, '2Gi')
  await eventually('more calls', () => expands(at).length >= 4)
})

inUse('a claim in use is expanded if the driver does not refuse the expansion', async (t) => {
  const at = await scene(t)
  await createBoundClaim(t)
  await usedBy(t)
  await ask(t, '2Gi')
  await resized(t, '2Gi')
  equal(expands(at).length, 1)
})

inUse('with --handle-volume-inuse-error=false, claims in use are retried with a driver call', async (t) => {
  const args = ['--retry-interval-start=300ms', '--retry-interval-max=300ms', '--handle-volume-inuse-error=false']
  const at = await refusedOnce(t, { args })
  await usedBy(t)
  await ask(t, '2Gi')
  await eventually('more calls', () => expands(at).length >= 4)
  equal(at.resizer.gate.requestsOf('pods'), [])
})

const events = testsOf('resizer', 'events')

async function eventsOn(t: TestContext, name = t.name('pvc')): Promise<readonly Event[]> {
  return (await t.api.list(EVENTS, 'default')).filter(({ involvedObject }) => involvedObject.name === name)
}

events('the resizer sets every field of an event', async (t) => {
  await scene(t)
  const { pvc, pv } = await grown(t)
  await untilEvent(t, 'VolumeResizeSuccessful')
  const claim = await getClaim(t)
  const [event] = (await eventsOn(t)).filter(({ reason }) => reason === 'Resizing')
  const { metadata, involvedObject, firstTimestamp, lastTimestamp, ...rest } = event ?? { metadata: {} }
  match(metadata.name ?? '', new RegExp(`^${pvc}\\.[0-9a-f]{16}$`))
  equal(metadata.namespace, 'default')
  const { resourceVersion, ...object } = involvedObject ?? {}
  equal(object, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    namespace: 'default',
    name: pvc,
    uid: claim.metadata?.uid,
  })
  ok(typeof resourceVersion === 'string')
  match(firstTimestamp ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  equal(lastTimestamp, firstTimestamp)
  const component = `external-resizer ${t.driverName}`
  const { source, ...more } = rest as Partial<Event>
  equal(source, { component })
  const { eventTime, ...plain } = more
  equal(eventTime ?? null, null)
  equal(plain, {
    type: 'Normal',
    reason: 'Resizing',
    message: `External resizer is resizing volume ${pv}`,
    count: 1,
    reportingComponent: component,
    reportingInstance: '',
  })
})

events('an event that the resizer sends again increases the count of the first event', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=200ms', '--retry-interval-max=400ms'] })
  at.driver.on('ControllerExpandVolume', { code: 13, message: 'no' })
  await raised(t)
  const counted = await eventually('a count', async () => (await eventsOn(t)).find(({ count = 0 }) => count >= 4))
  const same = (await eventsOn(t)).filter(({ message }) => message === counted.message)
  equal(same.length, 1)
  ok((counted.lastTimestamp ?? '') >= (counted.firstTimestamp ?? 'z'))
  const patch = at.resizer.gate.writes('events').find(({ method }) => method === 'PATCH')
  equal(patch?.contentType, 'application/strategic-merge-patch+json')
})

events('the resizer combines the events of an object from the tenth different event on', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=100ms', '--retry-interval-max=100ms'] })
  at.driver.on('ControllerExpandVolume', (_, nth) => ({ code: 13, message: `reason ${nth}` }))
  await raised(t)
  const combined = await eventually('a combined event', async () =>
    (await eventsOn(t)).find(({ message = '' }) => message.startsWith('(combined from similar events): ')),
  )
  equal(combined.reason, 'VolumeResizeFailed')
  const single = (await eventsOn(t)).filter(
    ({ message = '' }) => message.includes('reason ') && !message.startsWith('('),
  )
  ok(single.length >= 8 && single.length <= 10, `${single.length} single events`)
})

events('the resizer drops events above its rate limit, and continues to expand', { within: 180_000 }, async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=50ms', '--retry-interval-max=50ms'] })
  at.driver.on('ControllerExpandVolume', { code: 13, message: 'no' })
  await raised(t)
  await eventually('many tries', () => expands(at).length >= 75, { within: 60_000 })
  const writes = at.resizer.gate.writes('events')
  ok(writes.length <= 56, `${writes.length} writes of events`)
})

events('the resizer also writes each event to its log', async (t) => {
  const at = await scene(t, { args: ['-v=0'] })
  const { pvc, pv } = await grown(t)
  const line = await at.resizer.line(`object="default/${pvc}"`)
  ok(
    line.endsWith(
      `"Event occurred" object="default/${pvc}" fieldPath="" kind="PersistentVolumeClaim" apiVersion="v1" type="Normal" reason="Resizing" message="External resizer is resizing volume ${pv}"`,
    ),
    line,
  )
})
