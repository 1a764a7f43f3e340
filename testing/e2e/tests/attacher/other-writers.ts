import { deepStrictEqual as equal } from 'node:assert'
import { PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { hold } from '../../harness/api/gate.ts'
import type { Fault } from '../../harness/api/wire.ts'
import type { TestContext } from '../../harness/context.ts'
import type { Call } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import {
  type AttacherScene,
  afterLaterWork,
  attach,
  attachAndWait,
  attached,
  attachedScene,
  detachAndWait,
  editAttachment,
  getAttachment,
  publishes,
  scene,
  unpublishes,
  volumeCalls,
} from '../../rows/attacher/scene.ts'

/** Tests in which another writer changes an object while the attacher still sees the old object. */

const test = testsOf('attacher', 'other writers', { only: 'ours' })
/** Declares tests that run with our attacher and with the Go sidecar. */
const shared = testsOf('attacher', 'other writers')

/** Lets another writer change the VolumeAttachment right before our patch. The patch is based on the old object. */
function changedBefore(t: TestContext, { attacher }: Pick<AttacherScene, 'attacher'>, change: object): void {
  const changing = (): Fault => {
    attacher.gate.muteWatches()
    return { kind: 'wait', for: editAttachment(t, change) }
  }
  attacher.gate.inject('PATCH volumeattachments', changing, { times: 1 })
}

const errors = ({ attacher }: Pick<AttacherScene, 'attacher'>): number =>
  attacher.gate.writes('volumeattachments/status').filter(({ bytes }) => bytes.includes('Error')).length

test('an attach keeps finalizers and annotations that other writers add to the VolumeAttachment at the same time', async (t) => {
  const at = await scene(t)
  const others = { finalizers: ['example.com/b'], annotations: { other: 'kept' } }
  changedBefore(t, at, { metadata: others })
  const { metadata } = (await attachAndWait(t, at)).object
  equal(metadata?.finalizers, ['example.com/b', at.finalizer])
  equal(metadata?.annotations?.['other'], 'kept')
  equal([errors(at), volumeCalls(at.driver).length], [0, 1])
})

test('a foreign finalizer that its owner removes is not restored when our finalizer is removed', async (t) => {
  const at = await attachedScene(t, { va: { metadata: { finalizers: ['example.com/a'] } } })
  changedBefore(t, at, { metadata: { finalizers: [at.finalizer] } })
  await detachAndWait(t, at.va)
  equal([errors(at), unpublishes(at).length], [0, 1])
})

shared('an attached VolumeAttachment that lacks our finalizer at the start is not changed', async (t) => {
  const at = await attachedScene(t)
  await at.attacher.endBy('SIGKILL')
  await t.api.merge(VOLUME_ATTACHMENTS, { name: at.va }, { metadata: { finalizers: null } })
  const attacher = await t.running({ driver: at.driver }, 'volumeattachments', 'persistentvolumes', 'csinodes')
  await t.api.merge(VOLUME_ATTACHMENTS, { name: at.va }, { metadata: { labels: { a: 'b' } } })
  equal((await afterLaterWork(t, { ...at, attacher })).writes, [])
})

/** Tests of objects that are recreated under the same name while work for the deleted object runs. */

const identity = testsOf('attacher', 'identity', { only: 'ours' })
/** Declares tests of recreated objects, which run with our attacher and with the Go sidecar. */
const sharedIdentity = testsOf('attacher', 'identity')

const CALL_MS = 1000

/** Returns the driver calls as `publish <handle> <node id>`. The ID of the test is removed from both values. */
const outlineOf = (t: TestContext, calls: readonly Call[]): string[] =>
  calls.map(({ method, request }: Call) => {
    const short = method === 'ControllerPublishVolume' ? 'publish' : 'unpublish'
    return `${short} ${request['volume_id']} ${request['node_id']}`.replaceAll(`${t.id}-`, '')
  })

/** Removes the finalizers of a VolumeAttachment and deletes it, before the attacher can restore our finalizer. */
async function strip(t: TestContext, { attacher }: AttacherScene, name: string): Promise<void> {
  const writeHold = hold()
  attacher.gate.inject('PATCH volumeattachments', writeHold.fault)
  await t.api.merge(VOLUME_ATTACHMENTS, { name }, { metadata: { finalizers: null } })
  if ((await t.api.find(VOLUME_ATTACHMENTS, { name })) !== undefined) {
    await t.api.delete(VOLUME_ATTACHMENTS, { name })
  }
  await t.api.untilGone(VOLUME_ATTACHMENTS, { name })
  writeHold.release()
}

identity('a VolumeAttachment that is recreated during its publish does not get the former result', async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerPublishVolume', (_, nth) => ({ reply: {}, after: nth === 0 ? CALL_MS : 0 }))
  const { pv, va } = await attach(t, at)
  await eventually('a publish', () => volumeCalls(at.driver).length === 1)
  await strip(t, at, va)
  const made = await t.createAttachment('va', { pv, node: at.node })
  const bare = async (): Promise<boolean> => {
    const { status, metadata } = await getAttachment(t)
    return status?.attached === true && metadata?.finalizers === undefined
  }
  let wasBare = false
  await eventually('the second publish', async () => {
    wasBare ||= await bare()
    return publishes(at).length === 2
  })
  equal(wasBare, false)
  const { metadata } = await attached(t)
  equal([metadata?.uid, metadata?.finalizers], [made.metadata?.uid, [at.finalizer]])
  await detachAndWait(t, va)
  equal(outlineOf(t, volumeCalls(at.driver)).at(-1), 'unpublish pv-handle node-id')
  equal(outlineOf(t, volumeCalls(at.driver)).filter((call) => call.startsWith('publish')).length, 2)
})

for (const [label, answer] of [
  ['a VA that is deleted during its publish is unpublished after it', { reply: {} }],
  ['a VA that is deleted during a failing publish is unpublished too', { code: 13, message: 'no' }],
] as const) {
  identity(label, async (t) => {
    const at = await scene(t)
    at.driver.on('ControllerPublishVolume', { ...answer, after: CALL_MS })
    const { va } = await attach(t, at)
    await eventually('a publish', () => volumeCalls(at.driver).length === 1)
    await strip(t, at, va)
    await eventually('an unpublish', () => volumeCalls(at.driver).length === 2)
    at.driver.on('ControllerPublishVolume', { reply: {} })
    const { calls } = await afterLaterWork(t, at)
    equal(outlineOf(t, calls), ['publish pv-handle node-id', 'unpublish pv-handle node-id'])
  })
}

identity('if a PV is recreated with another handle during its publish, the former handle is unpublished', async (t) => {
  const at = await scene(t, { args: ['--timeout=3s'] })
  // The driver completes the first publish only after the deadline of the call.
  at.driver.on('ControllerPublishVolume', (_, nth) => ({ reply: {}, after: nth === 0 ? 4 * CALL_MS : 0 }))
  const { pv } = await attach(t, at)
  await eventually('a publish', () => volumeCalls(at.driver).length === 1)
  await replaceVolume(t, pv)
  await attached(t)
  await eventually('an unpublish', () => volumeCalls(at.driver).length === 3)
  equal(outlineOf(t, volumeCalls(at.driver)).sort(), [
    'publish later node-id',
    'publish pv-handle node-id',
    'unpublish pv-handle node-id',
  ])
})

sharedIdentity('a recreated PV that is still attached causes no driver call, because pods may use it', async (t) => {
  const at = await scene(t)
  const { pv } = await attachAndWait(t, at)
  // The creation time of the new PV is in a later second.
  const second = Math.floor(Date.now() / 1000)
  await eventually('the next second', () => Math.floor(Date.now() / 1000) > second)
  await replaceVolume(t, pv)
  equal((await afterLaterWork(t, at)).calls.length, 1)
})

/** Deletes the volume, and creates a volume with the same name and another handle. */
async function replaceVolume(t: TestContext, pv: string): Promise<void> {
  await t.strip(PERSISTENT_VOLUMES, { name: pv })
  await t.createVolume('pv', { csi: { volumeHandle: t.name('later') } })
}
