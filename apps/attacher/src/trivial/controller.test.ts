import { FakeClock } from '@csi-sidecars/base/testing'
import { type Outcome, SETTLED, WORK_COMPLETED } from '@csi-sidecars/controller'
import { recordingRun } from '@csi-sidecars/controller/testing'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { VolumeAttachment } from '@csi-sidecars/kube-types'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { beforeEach, expect, it } from '@jest/globals'
import { attachmentProjection, type CachedAttachment } from '../caches/attachment.ts'
import { STATUS_REVERTED } from '../term/status-reverted.ts'
import { apiError, uidMismatch } from '../testing/api-error.ts'
import { ObjectApi } from '../testing/fake-api.ts'
import { DRIVER, FINALIZER } from '../testing/views.ts'
import { reconcileTrivially } from './reconcile.ts'

let api: ObjectApi
let log: ReturnType<typeof recordingLogger>
let storedWrites: CachedAttachment[]
beforeEach(() => {
  api = new ObjectApi()
  log = recordingLogger()
  storedWrites = []
  waitMs = 0
})

const va = (
  change: { attacher?: string; metadata?: object; status?: object } = {},
): VolumeAttachment & { metadata: { name: string } } => ({
  metadata: { name: 'va1', uid: 'u', ...change.metadata },
  spec: { attacher: change.attacher ?? DRIVER, nodeName: 'node1', source: { persistentVolumeName: 'pv1' } },
  ...(change.status && { status: { attached: false, ...change.status } }),
})

let waitMs: number

/** Reconciles `va1`. `since` may change the API server's answer to the patch before it is cached. */
function run(
  signal = new AbortController().signal,
  since: (answer: VolumeAttachment) => VolumeAttachment | undefined = (answer) => answer,
): Promise<Outcome> {
  const project = attachmentProjection(DRIVER)
  const get = (key: string): CachedAttachment | undefined => {
    const stored = api.get(key)
    return stored && project(stored as unknown as VolumeAttachment)
  }
  const storeAnswer = (object: VolumeAttachment): CachedAttachment | undefined => {
    storedWrites.push(project(object))
    const cached = since(object)
    return cached && project(cached)
  }
  const attachments = { storeAnswer, store: { get } as never }
  const clock = new FakeClock()
  const undone = new Map([['u', { repeats: 1, untilMs: clock.monotonic() + waitMs }]])
  const deps = { api: api.client as KubeClient, attachments, undone, clock, log }
  return reconcileTrivially('va1', deps, recordingRun(signal))
}

it('if the driver cannot attach, the attacher pauses before it repeats an undone status write', async () => {
  api.store(va() as never)
  waitMs = 1_000
  expect(await run()).toEqual({ kind: 'postponed', ms: 1_000 })
  expect(api.requests).toEqual([])
})

const ATTACHED = 'patch va1/status {"metadata":{"uid":"u"},"status":{"attached":true}}'
const error = { message: 'x', time: 't' }

it.each([
  { name: 'new', object: va(), requests: [ATTACHED] },
  {
    name: 'being deleted',
    object: va({ metadata: { deletionTimestamp: 't', finalizers: [FINALIZER] } }),
    requests: [ATTACHED],
  },
  {
    name: 'with metadata and errors of an earlier attacher',
    object: va({ status: { attachError: error, detachError: error, attachmentMetadata: { a: 'b' } } }),
    requests: [
      'patch va1/status {"metadata":{"uid":"u"},"status":{"attached":true,"attachmentMetadata":null,"attachError":null}}',
    ],
  },
  { name: 'attached', object: va({ status: { attached: true } }), requests: [] },
  { name: 'of another attacher', object: va({ attacher: 'other' }), requests: [] },
])('if the driver cannot attach, an attachment ($name) causes the requests $requests', async ({ object, requests }) => {
  api.store(object)
  expect(await run()).toBe(requests.length === 0 ? SETTLED : WORK_COMPLETED)
  expect(api.requests).toEqual(requests)
  expect(storedWrites.map(({ attached }) => attached)).toEqual(requests.map(() => true))
})

it('if the driver cannot attach, the attacher sends nothing for a deleted attachment', async () => {
  expect(await run()).toEqual({ kind: 'settled' })
})

it('if the driver cannot attach, a status that another writer reverts is written again at once', async () => {
  api.store(va())
  const statusReverted = (object: VolumeAttachment): VolumeAttachment => ({ ...object, status: { attached: false } })
  expect(await run(undefined, statusReverted)).toMatchObject({
    kind: 'superseded',
    cause: new Error(STATUS_REVERTED),
  })
})

it('if the driver cannot attach, a run succeeds when the attachment is deleted during the run', async () => {
  api.store(va())
  expect(await run(undefined, () => undefined)).toBe(WORK_COMPLETED)
})

it('if the driver cannot attach, a run tries again when the status cannot be stored', async () => {
  const refused = apiError(500, 'InternalError', 'no')
  api.store(va())
  api.fail('patch', refused)
  expect(await run()).toEqual({ kind: 'retry', cause: refused })
  expect(log.lines.at(-1)).toMatchObject({
    level: 'error',
    message: 'Error saving VolumeAttachment as attached',
    error: refused,
    pairs: { VolumeAttachment: 'va1' },
  })
})

it('if the driver cannot attach, a run does not change a recreated attachment', async () => {
  api.store(va())
  api.fail('patch', uidMismatch('u'))
  expect(await run()).toMatchObject({ kind: 'retry' })
  expect(log.lines.map(({ level }) => level)).toEqual([3])
})

it('if the driver cannot attach, a cancelled run logs nothing', async () => {
  const stop = new AbortController()
  stop.abort(new Error('stop'))
  api.store(va())
  api.fail('patch', new Error('stop'))
  await expect(run(stop.signal)).rejects.toThrow('stop')
  expect(log.lines).toEqual([])
})
