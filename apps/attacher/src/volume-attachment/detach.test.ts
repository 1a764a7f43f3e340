import { WORK_COMPLETED } from '@csi-sidecars/controller'
import { CODES, RpcError } from '@csi-sidecars/csi'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { recordUndone } from '../term/undone-write.ts'
import { apiError } from '../testing/api-error.ts'
import { deleting, FINALIZED, pv, ReconcileFixture, TIME, va } from '../testing/reconcile-fixture.ts'
import { FINALIZER, ofPv, view, withFinalizer } from '../testing/views.ts'
import type { AttachmentView } from './observe.ts'

const SECRET_REF = { controllerPublishSecretRef: { namespace: 'ns', name: 'login' } }

let fixture: ReconcileFixture
beforeEach(() => {
  fixture = new ReconcileFixture()
  fixture.api.store(deleting())
})

describe('detach', () => {
  it('a detach reads the secret for the CSI call', async () => {
    fixture.api.store(pv(SECRET_REF))
    fixture.api.store({ metadata: { name: 'login' }, data: { user: 'YWRtaW4=' } } as never)
    expect(await fixture.run()).toBe(WORK_COMPLETED)
    expect(fixture.calls).toEqual(['unpublish handle-1 node1-id {"user":"admin"}'])
  })

  it('a detach sends requests of low priority while it fails repeatedly', async () => {
    fixture.api.store(pv(SECRET_REF))
    fixture.api.store({ metadata: { name: 'login' }, data: {} } as never)
    fixture.unpublish = async () => {
      throw new Error('away')
    }
    await fixture.run()
    expect(fixture.api.ofLowPriority).toEqual([])
    await fixture.clock.advance(1_000)
    await fixture.run()
    expect(fixture.api.ofLowPriority).toEqual(['get login', 'patch va1/status'])
  })

  it('a detach passes the signal and the logger of its run to the CSI call', async () => {
    const options: unknown[] = []
    const driver = { unpublish: async (_: object, callOptions: object) => void options.push(callOptions), lost: false }
    await fixture.run({ driver: driver as never })
    expect(options).toMatchObject([{ migrated: false, signal: fixture.signal.signal, log: expect.anything() }])
  })

  it('a detach stores an error in the status and waits if the volume is missing', async () => {
    fixture.api.objects.delete('pv1')
    expect(await fixture.run()).toMatchObject({
      kind: 'blocked',
      cause: { message: expect.stringMatching(/^failed to detach: .*pv1/) },
    })
    expect(fixture.calls).toEqual([])
    expect(fixture.lastRun.waitsFor).toEqual([{ kind: 'volume', name: 'pv1' }])
    expect(fixture.api.requests).toEqual([expect.stringMatching(/^patch va1\/status .*detachError/)])
  })

  it('a detach succeeds when the status shows that the volume is detached', async () => {
    expect(await fixture.run()).toBe(WORK_COMPLETED)
  })

  it('a detach that the driver refuses retries without waiting for another object', async () => {
    fixture.unpublish = () => Promise.reject(new RpcError(CODES.Internal, 'no'))
    await fixture.run()
    expect(fixture.lastRun.waitsFor).toEqual([])
  })

  it('a detach sends nothing if our finalizer is removed and `attached` is false', async () => {
    fixture.api.store(deleting({ finalizers: ['a/b'] }))
    const { status } = fixture.api.get('va1') as { status?: object }
    fixture.api.store({ ...deleting({ finalizers: ['a/b'] }), status: { ...status, attached: false } } as never)
    expect(await fixture.run()).toEqual({ kind: 'settled' })
    expect([fixture.calls, fixture.api.requests]).toEqual([[], []])
  })

  it('a detach also enqueues the unpublish from an earlier node ID of the volume', async () => {
    const publication = { volume: 'handle-1', nodeName: 'node1', secret: undefined, migrated: false }
    for (const nodeId of ['former-id', 'node1-id'])
      fixture.memory.recordPublish({ uid: 'va1-uid' }, { ...publication, request: { volumeId: 'handle-1', nodeId } })
    await fixture.run()
    expect(fixture.enqueued).toEqual(['handle-1 on former-id'])
  })
})

describe('lost volume', () => {
  const remembered = { handle: 'handle-1', uid: 'pv1-uid' }
  const gone: AttachmentView = view({
    va: withFinalizer({ key: 'va1', uid: 'va1-uid', deleting: true, attached: true, remembered }),
    volume: ofPv(undefined),
    settings: { ...view().settings, recoverLostVolumes: true },
  })
  const run = () => fixture.run({ observe: async () => gone })
  const isRemembered = () => fixture.memory.recordOf({ uid: 'va1-uid' }).isLostVolumeDetached

  it.each([
    ['calls the driver once the API server confirms the deletion', undefined],
    ['succeeds if the driver does not know the volume', new RpcError(CODES.NotFound, 'no such volume')],
  ])('a detach without a PersistentVolume %s, and remembers that the volume is detached', async (_, refusal) => {
    fixture.api.objects.delete('pv1')
    if (refusal !== undefined) fixture.unpublish = () => Promise.reject(refusal)
    expect(await run()).toBe(WORK_COMPLETED)
    expect(fixture.calls).toEqual(['unpublish handle-1 node1-id {}'])
    expect(fixture.api.requests).toEqual(['get pv1', expect.stringContaining('"op":"remove"')])
    expect(isRemembered()).toBe(true)
  })

  it('a detach without a PersistentVolume retries after an error of the driver', async () => {
    fixture.api.objects.delete('pv1')
    fixture.unpublish = () => Promise.reject(new RpcError(CODES.Internal, 'no'))
    expect(await run()).toMatchObject({ kind: 'retry' })
    expect(isRemembered()).toBe(false)
  })

  it.each([
    [
      'has a PersistentVolume of that name',
      undefined,
      'failed to detach: persistentvolume "pv1" has been created again',
    ],
    ['fails to answer', apiError(500, 'InternalError', 'no'), 'failed to detach: no'],
  ])('a detach without a PersistentVolume makes no CSI call if the API server %s', async (_, failure, message) => {
    if (failure !== undefined) fixture.api.fail('get pv1', failure)
    expect(await run()).toMatchObject({ kind: 'retry', cause: { message } })
    expect([fixture.calls, isRemembered()]).toEqual([[], false])
  })
})

it('NotFound from the driver counts as detached only if the PersistentVolume is gone', async () => {
  await fixture.run()
  expect(fixture.memory.recordOf({ uid: 'va1-uid' }).isLostVolumeDetached).toBe(false)
  fixture.api.store(deleting())
  fixture.unpublish = () => Promise.reject(new RpcError(CODES.NotFound, 'no such volume'))
  expect(await fixture.run()).toMatchObject({ kind: 'retry' })
})

const attachError = { message: 'no', time: TIME }
const VA = { uid: 'va1-uid' }

/** Records that another writer has removed our finalizer from the attachment. */
function noteRemoval({ memory, clock }: ReconcileFixture): void {
  const backoff = { baseMs: 1_000, maxMs: 60_000 }
  memory.update(VA, { finalizerRemoved: recordUndone(memory.recordOf(VA).finalizerRemoved, { backoff, clock }) })
}

describe('attached attachments', () => {
  let fixture: ReconcileFixture
  beforeEach(() => {
    fixture = new ReconcileFixture()
  })

  it('the attacher restores its finalizer on an attached attachment without a CSI call', async () => {
    fixture.api.store(va({ metadata: { finalizers: ['a/b'] }, status: { attached: true } }))
    noteRemoval(fixture)
    expect(await fixture.run()).toEqual({ kind: 'settled' })
    expect(fixture.api.get('va1')?.metadata.finalizers).toEqual(['a/b', FINALIZER])
    expect(fixture.calls).toEqual([])
  })

  it('the attacher pauses before it restores a finalizer that another writer removes repeatedly', async () => {
    fixture.api.store(va({ status: { attached: true } }))
    noteRemoval(fixture)
    noteRemoval(fixture)
    expect(await fixture.run()).toEqual({ kind: 'postponed', ms: 1_000 })
    expect(fixture.api.requests).toEqual([])
  })

  it('the attacher stores no attach error if the API server refuses to restore the finalizer', async () => {
    fixture.api.store(va({ status: { attached: true } }))
    noteRemoval(fixture)
    fixture.api.fail('patch va1 ', apiError(403, 'Forbidden', 'policy'))
    await expect(fixture.run()).rejects.toThrow('could not restore the finalizer: policy')
    expect(fixture.api.requests.filter((each) => each.includes('attachError'))).toEqual([])
  })

  it('the attacher does not repeat a patch of the finalizer that the API server refuses as invalid', async () => {
    fixture.api.store(va({ status: { attached: true } }))
    noteRemoval(fixture)
    fixture.api.fail('patch va1 ', apiError(422, 'Invalid', 'policy'), 9)
    await expect(fixture.run()).rejects.toThrow('policy')
    expect(fixture.api.requests.map((each) => each.split(' ')[0])).toEqual(['patch', 'get'])
  })

  it('if a listing confirms the attach, one patch clears the attach error', async () => {
    fixture.api.store(va({ metadata: FINALIZED, status: { attached: true, attachError } }))
    fixture.memory.update(VA, { listing: 'same' })
    await fixture.run()
    await fixture.run()
    expect(fixture.api.requests).toEqual([
      'patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"attachError":null}}',
    ])
  })

  it('if a listing lacks an attached volume, a failed publish is repeated', async () => {
    fixture.api.store(va({ metadata: FINALIZED, status: { attached: true } }))
    fixture.memory.update(VA, { listing: 'different' })
    fixture.publish = () => Promise.reject(new Error('no'))
    expect(await fixture.run()).toMatchObject({ kind: 'retry' })
    fixture.publish = async () => ({})
    expect(await fixture.run()).toBe(WORK_COMPLETED)
    expect(fixture.calls).toHaveLength(2)
    expect((fixture.api.get('va1') as unknown as { status: object }).status).toEqual({ attached: true })
  })
})
