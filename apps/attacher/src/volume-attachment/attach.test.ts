import { WORK_COMPLETED } from '@csi-sidecars/controller'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { STATUS_REVERTED } from '../term/status-reverted.ts'
import { apiError } from '../testing/api-error.ts'
import { FINALIZED, pv, ReconcileFixture, va } from '../testing/reconcile-fixture.ts'

let fixture: ReconcileFixture
beforeEach(() => {
  fixture = new ReconcileFixture()
})

describe('attach', () => {
  it('an attach stores an error in the status and waits if the volume is missing', async () => {
    fixture.api.objects.delete('pv1')
    expect(await fixture.run()).toMatchObject({
      kind: 'retry',
      cause: { message: 'failed to attach: persistentvolume "pv1" not found', cause: expect.any(Error) },
    })
    expect(fixture.calls).toEqual([])
    expect(fixture.lastRun.waitsFor).toEqual([{ kind: 'volume', name: 'pv1' }])
    expect(fixture.api.requests).toEqual([expect.stringMatching(/^patch va1\/status .*attachError/)])
  })

  it('an attach passes the signal and the logger of its run to the CSI call', async () => {
    const options: unknown[] = []
    const publish = async (_: object, callOptions: object): Promise<object> => {
      options.push(callOptions)
      return {}
    }
    await fixture.run({ driver: { publish, lost: false } as never })
    expect(options).toMatchObject([{ migrated: false, signal: fixture.signal.signal, log: expect.anything() }])
  })

  it('a repeatedly failing attach sends low-priority requests, but stores its first error and its success with normal priority', async () => {
    fixture.api.store(pv({ controllerPublishSecretRef: { name: 'creds', namespace: 'ns' } }))
    fixture.api.store({ metadata: { name: 'creds' }, data: {} } as never)
    fixture.publish = async () => {
      throw new Error('full')
    }
    await fixture.run()
    expect(fixture.api.ofLowPriority).toEqual([])
    await fixture.clock.advance(1_000)
    await fixture.run()
    expect(fixture.api.ofLowPriority).toEqual(['get creds', 'patch va1/status'])
    fixture.publish = async () => ({})
    await fixture.run()
    expect(fixture.api.ofLowPriority).toEqual(['get creds', 'patch va1/status', 'get creds'])
  })

  it.each([
    ['an unpublish from an earlier handle if it was never marked as attached', {}, ['former on node1-id']],
    ['no unpublish from an earlier handle of an attached volume, which a pod may use', { attached: true }, []],
  ])('a forced publish enqueues %s', async (_, status, keys) => {
    fixture.api.store(va({ metadata: FINALIZED, status: status as never }))
    fixture.memory.update({ uid: 'va1-uid' }, { listing: 'different' })
    const request = { volumeId: 'former', nodeId: 'node1-id' }
    const former = { volume: 'former', nodeName: 'node1', request, secret: undefined, migrated: false }
    fixture.memory.recordPublish({ uid: 'va1-uid' }, former)
    await fixture.run()
    expect([fixture.calls.length, fixture.enqueued]).toEqual([1, keys])
  })

  it('an attach does not write the finalizer of an attachment that has it', async () => {
    fixture.api.store(va({ metadata: FINALIZED }))
    await fixture.run()
    expect(fixture.api.requests).toEqual([expect.stringMatching(/^patch va1\/status /)])
  })

  it('an attach clears a stored error that the cache does not show yet', async () => {
    const attachError = { message: 'full', time: '2023-11-14T22:13:20Z' }
    fixture.api.store(va({ metadata: FINALIZED, status: { attachError } }))
    fixture.late.set('va1', va({ metadata: FINALIZED }))
    const { client } = fixture.api
    // The cache shows the answer of a write at once.
    const patch: typeof client.patch = async (...call) => {
      const saved = await client.patch(...call)
      fixture.late.clear()
      return saved
    }
    await fixture.run({ api: { ...client, patch } as never })
    expect(fixture.api.get('va1')).toMatchObject({ status: { attached: true } })
    expect(JSON.stringify(fixture.api.get('va1'))).not.toContain('attachError')
  })

  it('an attach runs again if another writer reverts the status during the run', async () => {
    fixture.api.store(va({ metadata: FINALIZED }))
    const back = { ...va({ metadata: FINALIZED }), status: { attached: false } }
    const patch = async (): Promise<object> => back
    expect(await fixture.run({ api: { ...fixture.api.client, patch } as never })).toMatchObject({
      kind: 'retry',
      cause: { message: STATUS_REVERTED },
    })
  })

  it("an attach waits for a volume only if the patch of the volume's finalizer returns 404", async () => {
    const { finalizers: _, ...metadata } = pv().metadata as { finalizers?: string[]; name: string; uid: string }
    const unfinalized = { ...pv(), metadata }
    for (const [error, waitsFor] of [
      [apiError(404, 'NotFound', 'gone'), [{ kind: 'volume', name: 'pv1' }]],
      [apiError(500, 'InternalError', 'no'), []],
    ] as const) {
      fixture.api.store(unfinalized)
      fixture.volumeAfterWrite = () => {
        throw error
      }
      expect(await fixture.run()).toMatchObject({
        cause: { message: expect.stringContaining('could not add PersistentVolume finalizer') },
      })
      expect(fixture.lastRun.waitsFor).toEqual(waitsFor)
    }
  })

  it('an attach succeeds when the status shows that the volume is attached', async () => {
    fixture.api.store({ ...pv(), metadata: { name: 'pv1', uid: 'pv1-uid' } } as never)
    expect(await fixture.run()).toBe(WORK_COMPLETED)
  })

  it('an attach ends without an error if it is cancelled while it writes the status', async () => {
    fixture.api.store(va({ metadata: FINALIZED }))
    const patch = async (): Promise<never> => {
      fixture.signal.abort(new Error('enough'))
      throw apiError(500, 'InternalError', 'no')
    }
    await expect(fixture.run({ api: { ...fixture.api.client, patch } as never })).rejects.toThrow('enough')
  })

  it('an attach returns the error of the API server if the status cannot be written', async () => {
    fixture.api.store(va({ metadata: FINALIZED }))
    const failure = apiError(500, 'InternalError', 'no')
    fixture.api.fail('patch va1/status', failure)
    expect(await fixture.run()).toMatchObject({ cause: { message: 'failed to mark as attached: no', cause: failure } })
  })
})
