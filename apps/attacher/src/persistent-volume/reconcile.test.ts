import { FakeClock } from '@csi-sidecars/base/testing'
import { SETTLED, WORK_COMPLETED } from '@csi-sidecars/controller'
import { type RecordingRun, recordingRun } from '@csi-sidecars/controller/testing'
import { ApiError, type KubeClient } from '@csi-sidecars/kube-client'
import type { PersistentVolume } from '@csi-sidecars/kube-types'
import { type RecordingLogger, recordingLogger } from '@csi-sidecars/telemetry/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { type CachedVolume, volumeProjection } from '../caches/volume.ts'
import type { UndoneWrite } from '../term/undone-write.ts'
import { apiError } from '../testing/api-error.ts'
import { ObjectApi } from '../testing/fake-api.ts'
import { csi, DRIVER, FINALIZER } from '../testing/views.ts'
import { VolumeFinalizers } from '../volumes/volume-finalizers.ts'
import { reconcileVolume } from './reconcile.ts'

const UID = '{"op":"test","path":"/metadata/uid","value":"u"}'

const pv = (metadata: object = {}): PersistentVolume & { metadata: { name: string } } => ({
  metadata: { name: 'pv1', uid: 'u', ...metadata },
  spec: { accessModes: ['ReadWriteOnce'], csi: csi() },
})

let api: ObjectApi
let cached: CachedVolume | undefined
const project = volumeProjection(DRIVER)
const volumes = {
  storeAnswer: (object: PersistentVolume) => {
    cached = project(object)
    return cached
  },
  store: { get: () => cached } as never,
}

beforeEach(() => {
  api = new ObjectApi()
  cached = project(pv())
  api.store(pv())
})

// The tested code only reads and patches, so the fake client has no other methods.
const client = (): KubeClient => api.client as KubeClient
const finalizers = (): VolumeFinalizers => new VolumeFinalizers({ api: client(), volumes, finalizer: FINALIZER })

const FAILED = 'Failed to remove finalizer from PersistentVolume'

describe('reconcileVolume', () => {
  const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['a/b', FINALIZER] }
  const REMOVE = (index: number): string =>
    `patch pv1 [${UID},{"op":"test","path":"/metadata/finalizers/${index}","value":"${FINALIZER}"},{"op":"remove","path":"/metadata/finalizers/${index}"}]`
  let recording: RecordingRun
  const clock = new FakeClock()
  let log: RecordingLogger
  let undone: Map<string, UndoneWrite>
  const run = (attachments: unknown[] = []): ReturnType<typeof reconcileVolume> =>
    reconcileVolume(
      'pv1',
      {
        api: client(),
        volumes,
        attachments: { byIndex: () => attachments } as never,
        finalizers: finalizers(),
        undone,
        clock,
        settings: { driverName: DRIVER, finalizer: FINALIZER },
        log,
      },
      recording,
    )

  beforeEach(() => {
    recording = recordingRun()
    log = recordingLogger()
    undone = new Map()
    cached = project(pv(deleted))
    api.store(pv(deleted))
  })

  it('the attacher removes the finalizer of a deleted volume without attachments', async () => {
    expect(await run()).toBe(WORK_COMPLETED)
    expect(api.requests).toEqual([REMOVE(1)])
    expect(recording.waitsFor).toEqual([])
  })

  it('the attacher keeps the finalizer of a volume that an attachment names', async () => {
    expect(await run([{ key: 'va1' }])).toBe(SETTLED)
    expect(api.requests).toEqual([])
    expect(recording.waitsFor).toEqual([{ kind: 'attachment', name: 'va1' }])
  })

  it('the attacher reads a volume again if the cached finalizers are outdated before the removal', async () => {
    api.store(pv({ ...deleted, finalizers: [FINALIZER] }))
    expect(await run()).toMatchObject({ kind: 'retry' })
    expect(await run()).toBe(WORK_COMPLETED)
    expect(api.requests).toEqual([REMOVE(1), 'get pv1', REMOVE(0)])
  })

  it('the attacher logs no error if another writer has changed the finalizers before the removal', async () => {
    api.store(pv({ ...deleted, finalizers: [FINALIZER] }))
    await run()
    expect(log.lines.filter(({ message }) => message === FAILED)).toEqual([
      { level: 3, message: FAILED, pairs: { PersistentVolume: 'pv1', err: expect.any(ApiError) } },
    ])
  })

  it('the attacher logs an error if the API server refuses the removal of the finalizer', async () => {
    const forbidden = apiError(403, 'Forbidden')
    api.fail('patch pv1', forbidden)
    await run()
    expect(log.lines).toContainEqual({
      level: 'error',
      message: FAILED,
      pairs: { PersistentVolume: 'pv1' },
      error: forbidden,
    })
  })

  it('the attacher does not apply the patch of a deleted volume to the recreated volume', async () => {
    api.store(pv({ ...deleted, uid: 'v' }))
    expect(await run()).toMatchObject({ kind: 'retry' })
    expect(api.get('pv1')?.metadata.finalizers).toEqual(deleted.finalizers)
    expect(cached?.uid).toBe('v')
  })

  it('a run for a volume that is gone succeeds', async () => {
    api.objects.clear()
    expect(await run()).toEqual({ kind: 'settled' })
  })
})
