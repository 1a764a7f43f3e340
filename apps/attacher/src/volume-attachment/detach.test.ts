import { DONE } from '@csi-sidecars/controller'
import { CODES, RpcError } from '@csi-sidecars/csi'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { apiError } from '../testing/api-error.ts'
import { deleting, pv, ReconcileFixture } from '../testing/reconcile-fixture.ts'
import { ofPv, view, withFinalizer } from '../testing/views.ts'
import type { AttachmentView } from './observe.ts'

const SECRET_REF = { controllerPublishSecretRef: { namespace: 'ns', name: 'login' } }

let fixture: ReconcileFixture
beforeEach(() => {
  fixture = new ReconcileFixture()
  fixture.api.put(deleting())
})

describe('a detach', () => {
  it('reads the secret for the call', async () => {
    fixture.api.put(pv(SECRET_REF))
    fixture.api.put({ metadata: { name: 'login' }, data: { user: 'YWRtaW4=' } } as never)
    expect(await fixture.run()).toBe(DONE)
    expect(fixture.calls).toEqual(['unpublish handle-1 node1-id {"user":"admin"}'])
  })

  it('that fails again and again asks for what others leave of the rate', async () => {
    fixture.api.put(pv(SECRET_REF))
    fixture.api.put({ metadata: { name: 'login' }, data: {} } as never)
    fixture.unpublish = async () => {
      throw new Error('away')
    }
    await fixture.run()
    expect(fixture.api.ofLowPriority).toEqual([])
    await fixture.clock.advance(1_000)
    await fixture.run()
    expect(fixture.api.ofLowPriority).toEqual(['get login', 'patch va1/status'])
  })

  it('is called under the key of the run, and can be called off', async () => {
    const options: unknown[] = []
    const driver = { unpublish: async (_: object, given: object) => void options.push(given), lost: false }
    await fixture.run({ driver: driver as never })
    expect(options).toMatchObject([{ migrated: false, signal: fixture.signal.signal, log: expect.anything() }])
  })

  it('is blocked by the volume that is missing, with its error in the status', async () => {
    fixture.api.objects.delete('pv1')
    expect(await fixture.run()).toMatchObject({
      kind: 'blocked',
      cause: { message: expect.stringMatching(/^failed to detach: .*pv1/) },
    })
    expect(fixture.calls).toEqual([])
    expect(fixture.own.causes).toEqual([{ on: 'volume', name: 'pv1' }])
    expect(fixture.api.requests).toEqual([expect.stringMatching(/^patch va1\/status .*detachError/)])
  })

  it('is done once the status says that the volume is detached', async () => {
    expect(await fixture.run()).toBe(DONE)
  })

  it('waits for nothing more once it has what it needs', async () => {
    fixture.unpublish = () => Promise.reject(new RpcError(CODES.Internal, 'no'))
    await fixture.run()
    expect(fixture.own.causes).toEqual([])
  })

  it('is done where our finalizer is gone and the status says so', async () => {
    fixture.api.put(deleting({ finalizers: ['a/b'] }))
    const { status } = fixture.api.get('va1') as { status?: object }
    fixture.api.put({ ...deleting({ finalizers: ['a/b'] }), status: { ...status, attached: false } } as never)
    expect(await fixture.run()).toEqual({ kind: 'settled' })
    expect([fixture.calls, fixture.api.requests]).toEqual([[], []])
  })

  it('orphans what was published under another node id of the attachment', async () => {
    const publication = { volume: 'handle-1', nodeName: 'node1', secret: undefined, migrated: false }
    for (const nodeId of ['former-id', 'node1-id'])
      fixture.memory.publishing({ uid: 'va1-uid' }, { ...publication, request: { volumeId: 'handle-1', nodeId } })
    await fixture.run()
    expect(fixture.enqueued).toEqual(['handle-1 on former-id'])
  })
})

describe('a detach of a volume that is gone', () => {
  const remembered = { handle: 'handle-1', uid: 'pv1-uid' }
  const gone: AttachmentView = view({
    va: withFinalizer({ key: 'va1', uid: 'va1-uid', deleting: true, attached: true, remembered }),
    volume: ofPv(undefined),
    settings: { ...view().settings, recoverLostVolumes: true },
  })
  const run = () => fixture.run({ observe: async () => gone })
  const isRemembered = () => fixture.memory.of({ uid: 'va1-uid' }).lostDetached

  it.each([
    ['is called once the API server has said so', undefined],
    ['is done where the driver knows nothing of it either', new RpcError(CODES.NotFound, 'no such volume')],
  ])('%s, and its success is remembered', async (_, refusal) => {
    fixture.api.objects.delete('pv1')
    if (refusal !== undefined) fixture.unpublish = () => Promise.reject(refusal)
    expect(await run()).toBe(DONE)
    expect(fixture.calls).toEqual(['unpublish handle-1 node1-id {}'])
    expect(fixture.api.requests).toEqual(['get pv1', expect.stringContaining('"op":"remove"')])
    expect(isRemembered()).toBe(true)
  })

  it('is tried again where the driver fails', async () => {
    fixture.api.objects.delete('pv1')
    fixture.unpublish = () => Promise.reject(new RpcError(CODES.Internal, 'no'))
    expect(await run()).toMatchObject({ kind: 'retry' })
    expect(isRemembered()).toBe(false)
  })

  it.each([
    ['has one of its name', undefined, 'failed to detach: persistentvolume "pv1" has been made again'],
    ['does not say', apiError(500, 'InternalError', 'no'), 'failed to detach: no'],
  ])('is not called where the API server %s', async (_, failure, message) => {
    if (failure !== undefined) fixture.api.fail('get pv1', failure)
    expect(await run()).toMatchObject({ kind: 'retry', cause: { message } })
    expect([fixture.calls, isRemembered()]).toEqual([[], false])
  })
})

it('a detach that is not for a lost volume is not remembered as one', async () => {
  await fixture.run()
  expect(fixture.memory.of({ uid: 'va1-uid' }).lostDetached).toBe(false)
  fixture.api.put(deleting())
  fixture.unpublish = () => Promise.reject(new RpcError(CODES.NotFound, 'no such volume'))
  expect(await fixture.run()).toMatchObject({ kind: 'retry' })
})
