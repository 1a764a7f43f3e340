import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { EVENTS, type Event, PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { claim, referenceTo } from '../../harness/api/objects.ts'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import {
  type AttacherScene,
  type AttacherSceneSetup,
  attach,
  attached,
  getAttachment,
  scene,
} from '../../rows/attacher/scene.ts'

const test = testsOf('attacher', 'pending work')
const ours = { only: 'ours' } as const

interface Stuck {
  readonly items: readonly Record<string, unknown>[]
  readonly total: number
}

async function stuck(attacher: RunningSidecar): Promise<Stuck> {
  const { code, text, headers } = await attacher.http('/debug/stuck')
  equal([code, headers.get('content-type')], [200, 'application/json'])
  return JSON.parse(text)
}

/** Waits until `/debug/stuck` has an item that meets the condition. */
function pending(
  attacher: RunningSidecar,
  matches: (item: Record<string, unknown>) => boolean,
): Promise<Record<string, unknown>> {
  return eventually('the pending work', async () => (await stuck(attacher)).items.find(matches))
}

const eventsOn = async (t: TestContext, uid: string | undefined): Promise<readonly Event[]> =>
  (await t.api.list(EVENTS)).filter(({ involvedObject }) => involvedObject.uid === uid)

/** Waits for events about an object, and returns them. */
function eventsThatCome(t: TestContext, uid: string): Promise<readonly Event[]> {
  const newEvents = async (): Promise<readonly Event[] | false> => {
    const events = await eventsOn(t, uid)
    return events.length > 0 && events
  }
  return eventually('an event', newEvents, { within: 40_000 })
}

interface Claimed extends AttacherScene {
  readonly va: string
  readonly pv: string
  /** The UIDs of the VolumeAttachment and of the claim. */
  readonly attachment: string
  readonly claim: string
}

/** Attaches a volume that is bound to a claim. */
async function claimed(t: TestContext, setup: AttacherSceneSetup): Promise<Claimed> {
  // The charts of drivers grant attachers no permission for events, so the test uses the role of both sidecars.
  const at = await scene(t, { role: 'both', ...setup })
  const unbound = claim(t.namespace, t.name('claim'), { volumeName: t.name('pv'), storageClassName: '' })
  const made = await t.create(PERSISTENT_VOLUME_CLAIMS, unbound)
  const names = await attach(t, at, { pv: { claimRef: referenceTo(made) } })
  const { metadata } = await getAttachment(t)
  return { ...at, ...names, attachment: metadata?.uid ?? '', claim: made.metadata?.uid ?? '' }
}

test('metrics, events and /debug/stuck report a failing attach and its recovery', ours, async (t) => {
  const at = await claimed(t, {
    args: ['--timeout=2s', '--retry-interval-start=1s', '--retry-interval-max=2s', '--log-backlog-interval=2s'],
    prepare: (driver) => driver.on('ControllerPublishVolume', { after: 60_000, reply: {} }),
  })
  const { metadata } = await getAttachment(t)
  const created = Date.parse(String(metadata?.creationTimestamp))

  const first = await pending(at.attacher, ({ state }) => state === 'calling')
  equal([first['reason'], first['waitsFor'], first['tries']], ['DriverCall', ['CSI driver'], 1])

  const failing = await pending(at.attacher, ({ state, tries }) => state === 'waiting' && tries === 2)
  const { since, nextTry, state, waitsFor, ...facts } = failing
  equal(facts, {
    driver: t.driverName,
    sidecar: 'external-attacher',
    operation: 'attach',
    object: { kind: 'VolumeAttachment', namespace: '', name: at.va, uid: at.attachment },
    volume: at.pv,
    node: at.node,
    reason: 'DeadlineExceeded',
    stuck: false,
    tries: 2,
    code: 'DeadlineExceeded',
    message: 'failed to attach: rpc error: code = DeadlineExceeded desc = context deadline exceeded',
  })
  equal([state, waitsFor], ['waiting', [`a detach of volume ${at.pv}-handle`]])
  ok(Math.abs(Date.parse(String(since)) - created) <= 3000, `since ${since}`)
  ok(Math.abs(Date.parse(String(nextTry)) - Date.now()) < 10_000, `next try ${nextTry}`)

  const now = Date.now()
  const metrics = await at.attacher.metrics()
  const labels = { driver_name: t.driverName, operation: 'attach', reason: 'DeadlineExceeded' }
  equal(metrics.value('csi_sidecar_pending_work', labels), 1)
  const age = metrics.value('csi_sidecar_pending_work_oldest_seconds', labels) ?? -1
  ok(Math.abs(age - (now - created) / 1000) <= 5, `the oldest is ${age} s old`)
  equal(metrics.value('csi_sidecar_stuck_work', labels), 0)
  match(await at.attacher.line('"Work is waiting"'), /csi-attacher-va=1/)

  for (const uid of [at.attachment, at.claim]) {
    const [event, ...others] = await eventsThatCome(t, uid)
    equal(others, [])
    equal([event?.type, event?.reason], ['Warning', 'VolumeAttachFailed'])
    match(
      event?.message ?? '',
      new RegExp(`^Volume ${at.pv} on node ${at.node}: failed to attach: rpc error: code = DeadlineExceeded`),
    )
  }

  at.driver.on('ControllerPublishVolume', { reply: {} })
  await attached(t)
  const well = async (uid: string) =>
    (await eventsOn(t, uid)).filter(({ reason }) => reason === 'VolumeAttachSuccessful')
  await eventually('an event of the recovery', async () => (await well(at.claim)).length === 1)
  equal([(await eventsOn(t, at.attachment)).length, (await eventsOn(t, at.claim)).length], [2, 2])
  equal(await stuck(at.attacher), { items: [], total: 0 })
  const after = await at.attacher.metrics()
  equal(
    after.samples.map(({ name }) => name).filter((name) => /^csi_sidecar_(pending|stuck)_work/.test(name)),
    [],
  )
  equal(after.value('csi_sidecar_work_duration_seconds_count', { operation: 'attach' }), 1)
})
