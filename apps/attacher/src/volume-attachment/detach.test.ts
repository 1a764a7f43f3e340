import { CODES, RpcError } from '@csi-sidecars/csi'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { deleting, pv, ReconcileFixture } from '../testing/reconcile-fixture.ts'

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
    expect(await fixture.run()).toEqual({ kind: 'settled' })
    expect(fixture.calls).toEqual(['unpublish handle-1 node1-id {"user":"admin"}'])
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

  it('leaves behind what was published under another node id of the attachment', async () => {
    const publication = { uid: 'va1-uid', volume: 'handle-1', nodeName: 'node1', secret: undefined, migrated: false }
    for (const nodeId of ['former-id', 'node1-id'])
      fixture.memory.published.publishing({ ...publication, request: { volumeId: 'handle-1', nodeId } })
    await fixture.run()
    expect(fixture.enqueued).toEqual(['handle-1 on former-id'])
  })
})
