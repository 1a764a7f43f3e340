import { deepStrictEqual as equal } from 'node:assert'
import { PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { hold } from '../../harness/api/gate.ts'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import type { Call } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { called, failure, killed, merged, OK, whileInterfering } from '../../rows/actions.ts'
import { attach, attacherRows, detach, type RowScene, started, touched } from '../../rows/attacher/rows.ts'
import {
  attached,
  attach as attachNow,
  detachAndWait,
  editAttachment,
  finalizerOf,
  getAttachment,
  publishes,
  scene,
  volumeCalls,
} from '../../rows/attacher/scene.ts'
import type { Action } from '../../rows/row.ts'

/** Rows and tests in which another writer changes an object while the attacher still sees the old object. */

const row = attacherRows('other writers', import.meta.filename)

/** Another writer changes the VolumeAttachment right before our patch, which is based on the old object. */
const changedBefore = (metadata: (t: TestContext) => object, ...actions: readonly Action<RowScene>[]) =>
  whileInterfering(
    {
      kind: 'PATCH volumeattachments',
      change: (t) => editAttachment(t, { metadata: metadata(t) }),
      isNoticed: (later) =>
        later.some(({ method, resource, code }) => `${method} ${resource} ${code}` === 'PATCH volumeattachments 200'),
    },
    ...actions,
  )

row('an attach keeps finalizers and annotations that other writers add to the VolumeAttachment at the same time', {
  only: 'ours',
  steps: [changedBefore(() => ({ finalizers: ['example.com/b'], annotations: { other: 'kept' } }), attach())],
})
row('a foreign finalizer that its owner removes is not restored when our finalizer is removed', {
  only: 'ours',
  steps: [
    attach({ va: { metadata: { finalizers: ['example.com/a'] } } }),
    changedBefore((t) => ({ finalizers: [finalizerOf(t.driverName)] }), detach),
  ],
})
row('an attached VolumeAttachment that lacks our finalizer at the start is not changed', {
  steps: [attach(), killed, merged(VOLUME_ATTACHMENTS, 'va', { metadata: { finalizers: null } }), started, touched],
})

/** Rows and tests of objects that are recreated under the same name while work for the deleted object runs. */

const identityRow = attacherRows('identity', import.meta.filename)
const CALL_MS = 1000

/** Removes the finalizers of a VolumeAttachment and deletes it, before the attacher can restore our finalizer. */
async function strip(t: TestContext, attacher: RunningSidecar, name: string): Promise<void> {
  const writeHold = hold()
  attacher.gate.inject('PATCH volumeattachments', writeHold.fault)
  await t.api.merge(VOLUME_ATTACHMENTS, { name }, { metadata: { finalizers: null } })
  if ((await t.api.find(VOLUME_ATTACHMENTS, { name })) !== undefined) {
    await t.api.delete(VOLUME_ATTACHMENTS, { name })
  }
  await t.api.untilGone(VOLUME_ATTACHMENTS, { name })
  writeHold.release()
}

const attachmentStripped: Action<unknown> = {
  name: 'delete VolumeAttachment va and its finalizers',
  run: async (t) => {
    const [attacher] = t.sidecars
    if (attacher !== undefined) await strip(t, attacher, t.name('va'))
  },
}
for (const [label, reply] of [
  ['a VA that is deleted during its publish is unpublished after it', OK],
  ['a VA that is deleted during a failing publish is unpublished too', failure(13)],
] as const) {
  identityRow(label, {
    only: 'ours',
    setup: { answers: { ControllerPublishVolume: [Object.assign({ after: CALL_MS }, reply)] } },
    steps: [[attach(), called('ControllerPublishVolume'), attachmentStripped]],
  })
}

/** Deletes the volume, and creates a volume with the same name and another handle. */
async function replaceVolume(t: TestContext, pv: string): Promise<void> {
  await t.strip(PERSISTENT_VOLUMES, { name: pv })
  await t.createVolume('pv', { csi: { volumeHandle: t.name('later') } })
}
const volumeReplaced: Action<unknown> = {
  name: 'replace PersistentVolume pv in the next second',
  run: async (t) => {
    const second = Math.floor(Date.now() / 1000)
    await eventually('the next second', () => Math.floor(Date.now() / 1000) > second)
    await replaceVolume(t, t.name('pv'))
  },
}
identityRow('a recreated PV that is still attached causes no driver call, because pods may use it', {
  steps: [attach(), volumeReplaced],
})

const identity = testsOf('attacher', 'identity', { only: 'ours' })

/** Returns the driver calls as `publish <handle> <node id>`. The ID of the test is removed from both values. */
const outlineOf = (t: TestContext, calls: readonly Call[]): string[] =>
  calls.map(({ method, request }: Call) => {
    const short = method === 'ControllerPublishVolume' ? 'publish' : 'unpublish'
    return `${short} ${request['volume_id']} ${request['node_id']}`.replaceAll(`${t.id}-`, '')
  })

identity('a VolumeAttachment that is recreated during its publish does not get the former result', async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerPublishVolume', (_, nth) => ({ reply: {}, after: nth === 0 ? CALL_MS : 0 }))
  const { pv, va } = await attachNow(t, at)
  await eventually('a publish', () => volumeCalls(at.driver).length === 1)
  await strip(t, at.attacher, va)
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

identity('if a PV is recreated with another handle during its publish, the former handle is unpublished', async (t) => {
  const at = await scene(t, { args: ['--timeout=3s'] })
  // The driver completes the first publish only after the deadline of the call.
  at.driver.on('ControllerPublishVolume', (_, nth) => ({ reply: {}, after: nth === 0 ? 4 * CALL_MS : 0 }))
  const { pv } = await attachNow(t, at)
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
