import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { EVENTS, type Event } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import { expands, getClaim, grown, raised, scene, untilEvent } from './scene.ts'

const test = testsOf('resizer', 'events')

async function eventsOn(t: TestContext, name = t.name('pvc')): Promise<readonly Event[]> {
  return (await t.api.list(EVENTS, 'default')).filter(({ involvedObject }) => involvedObject.name === name)
}

test('every field of an event', async (t) => {
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

test('a repeated event increases the count', async (t) => {
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

test('many different events are combined from the tenth on', async (t) => {
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

test('a flood is dropped, and work continues', { within: 180_000 }, async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=50ms', '--retry-interval-max=50ms'] })
  at.driver.on('ControllerExpandVolume', { code: 13, message: 'no' })
  await raised(t)
  await eventually('many tries', () => expands(at).length >= 45, { within: 60_000 })
  await pause(1500)
  const writes = at.resizer.gate.writes('events')
  ok(writes.length <= 56, `${writes.length} writes of events`)
})

test('each event is a log line too', async (t) => {
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
