import { WORK_COMPLETED } from '@csi-sidecars/controller'
import { CODES, RpcError } from '@csi-sidecars/csi'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { apiError } from '../testing/api-error.ts'
import { deleting, FINALIZED, pv, ReconcileFixture, TIME, va } from '../testing/reconcile-fixture.ts'
import { DRIVER, FINALIZER } from '../testing/views.ts'

let fixture: ReconcileFixture
beforeEach(() => {
  fixture = new ReconcileFixture()
})

describe('deleted attachment', () => {
  const again = (): ReturnType<typeof va> => va({ metadata: { uid: 'later' } })
  const LEFT = 'handle-1 on node1-id'

  /** Removes the finalizer by hand, and recreates the attachment. */
  function replaced(): void {
    fixture.api.store(again())
  }

  it('the result of a publish for a deleted attachment is not stored in the recreated attachment', async () => {
    fixture.publish = async () => {
      replaced()
      return { device: '/dev/x' }
    }
    expect(await fixture.run()).toEqual({ kind: 'settled' })
    expect(fixture.api.get('va1')).toMatchObject({ metadata: { uid: 'later' }, status: { attached: false } })
    expect(fixture.enqueued).toContain(LEFT)
    expect(await fixture.run({}, LEFT)).toEqual({ kind: 'settled' })
    expect(fixture.calls).toHaveLength(1)
  })

  it.each([
    { name: 'has published it', error: undefined },
    { name: 'has refused the publish', error: new RpcError(CODES.Internal, 'no') },
  ])('the volume of a deleted attachment is unpublished if the driver $name', async ({ error }) => {
    fixture.publish = async () => {
      fixture.api.objects.delete('va1')
      if (error !== undefined) throw error
      return {}
    }
    expect(await fixture.run()).toMatchObject({ kind: 'settled' })
    expect(fixture.enqueued).toContain(LEFT)
    expect(await fixture.run({}, LEFT)).toBe(WORK_COMPLETED)
    expect(fixture.calls.at(-1)).toBe('unpublish handle-1 node1-id {}')
    expect(fixture.woken).toEqual([{ kind: 'unpublish', name: 'handle-1' }])
    expect(await fixture.run({}, LEFT)).toEqual({ kind: 'settled' })
    expect(fixture.calls).toHaveLength(2)
  })

  it('the volume of a deleted attachment is unpublished after a reconnect if the driver disconnected during the publish', async () => {
    fixture.publish = async () => {
      fixture.api.objects.delete('va1')
      fixture.lost = true
      throw new RpcError(CODES.Unavailable, 'connection lost')
    }
    expect(await fixture.run()).toMatchObject({ kind: 'superseded' })
    fixture.unpublish = async () => Promise.reject(new RpcError(CODES.Unavailable, 'connection lost'))
    expect(await fixture.run({}, LEFT)).toMatchObject({ kind: 'retry' })
    fixture.lost = false
    fixture.unpublish = async () => {}
    expect(await fixture.run({}, LEFT)).toBe(WORK_COMPLETED)
    expect(fixture.memory.orphanedPublication(LEFT)).toBeUndefined()
  })

  it.each([
    { name: 'on another node', object: { metadata: { uid: 'other' }, nodeName: 'node2' }, unpublished: true },
    { name: 'of another attacher', object: { metadata: { uid: 'other' }, attacher: 'other' }, unpublished: true },
    {
      name: 'that is being deleted without our finalizer',
      object: { metadata: { uid: 'other', deletionTimestamp: TIME, finalizers: ['a/b'] } },
      unpublished: true,
    },
    {
      name: 'that is being deleted with our finalizer',
      object: { metadata: { uid: 'other', deletionTimestamp: TIME, finalizers: [FINALIZER] } },
      unpublished: false,
    },
    { name: 'that is not being deleted', object: { metadata: { uid: 'other' } }, unpublished: false },
  ])('a volume with another attachment $name is unpublished: $unpublished', async ({ object, unpublished }) => {
    const {
      nodeName = 'node1',
      attacher = DRIVER,
      metadata,
    } = object as { nodeName?: string; attacher?: string; metadata: object }
    const other = va({ metadata: { ...metadata, name: 'va2' } })
    fixture.api.store({ ...other, spec: { ...other.spec, nodeName, attacher } } as never)
    fixture.publish = async () => {
      fixture.api.objects.delete('va1')
      return {}
    }
    await fixture.run()
    await fixture.run({}, LEFT)
    expect(fixture.calls.some((call) => call.startsWith('unpublish'))).toBe(unpublished)
    expect(fixture.memory.orphanedPublication(LEFT) === undefined).toBe(unpublished)
  })

  it('the volume of a deleted attachment is unpublished with the same secret as the publish', async () => {
    fixture.api.store(pv({ controllerPublishSecretRef: { name: 'creds', namespace: 'ns' } }))
    fixture.api.store({ metadata: { name: 'creds' }, data: { key: Buffer.from('word').toString('base64') } } as never)
    fixture.publish = async () => {
      fixture.api.objects.delete('va1')
      return {}
    }
    await fixture.run()
    await fixture.run({}, LEFT)
    expect(fixture.calls.at(-1)).toBe('unpublish handle-1 node1-id {"key":"word"}')
  })

  it.each([
    { code: 'NotFound', outcome: { kind: 'settled' } },
    {
      code: 'Internal',
      outcome: { kind: 'retry', cause: new Error('failed to detach: rpc error: code = Internal desc = no') },
    },
  ] as const)('an unpublish returns $outcome.kind if the driver answers $code', async ({ code, outcome }) => {
    fixture.publish = async () => {
      fixture.api.objects.delete('va1')
      return {}
    }
    await fixture.run()
    fixture.unpublish = async () => Promise.reject(new RpcError(CODES[code], 'no'))
    expect(await fixture.run({}, LEFT)).toMatchObject(outcome)
    expect(fixture.memory.orphanedPublication(LEFT) === undefined).toBe(outcome.kind === 'settled')
  })

  it('an attach does not publish if the cache shows the deletion of the attachment before the call', async () => {
    fixture.api.store(pv({ controllerPublishSecretRef: { name: 'creds', namespace: 'ns' } }))
    fixture.api.store({ metadata: { name: 'creds' }, data: {} } as never)
    fixture.api.store(va({ metadata: FINALIZED }))
    const get = fixture.api.client.get
    const slow = {
      ...fixture.api.client,
      get: async (...args: Parameters<typeof get>) => {
        replaced()
        return await get(...args)
      },
    } as KubeClient
    expect(await fixture.run({ api: slow })).toEqual({ kind: 'settled' })
    expect(fixture.calls).toEqual([])
  })

  it('after a read has confirmed the deletion of a cached attachment, its volume is not published again', async () => {
    fixture.publish = async () => {
      fixture.late.set('va1', va({ metadata: FINALIZED }))
      fixture.api.objects.delete('va1')
      return {}
    }
    expect(await fixture.run()).toEqual({ kind: 'settled' })
    expect(fixture.api.requests.at(-1)).toBe('get va1')
    expect(await fixture.run({}, LEFT)).toBe(WORK_COMPLETED)
    expect(fixture.calls.at(-1)).toContain('unpublish')
    expect(await fixture.run()).toEqual({ kind: 'settled' })
    expect(fixture.calls).toHaveLength(2)
    fixture.late.clear()
    fixture.api.store(va())
    fixture.memory.forget({ uid: 'va1-uid' })
    await fixture.run()
    expect(fixture.calls).toHaveLength(3)
  })

  it('a status write that returns 404 is retried if a read finds the attachment', async () => {
    fixture.api.fail('patch va1/status', apiError(404, 'NotFound', 'no such path'))
    expect(await fixture.run()).toMatchObject({
      kind: 'retry',
      cause: new Error('failed to mark as attached: no such path'),
    })
    expect(fixture.enqueued).toEqual([])
  })

  it('a status write that returns 404 is retried if the following read fails too', async () => {
    fixture.api.fail('patch va1/status', apiError(404, 'NotFound', 'no such path'))
    fixture.api.fail('get va1', apiError(500, 'InternalError', 'etcd is away'))
    expect(await fixture.run()).toMatchObject({ kind: 'retry' })
    expect(fixture.enqueued).toEqual([])
  })

  it('an attachment that was reported as gone by mistake is attached', async () => {
    fixture.api.store(va({ metadata: FINALIZED }))
    fixture.memory.update({ uid: 'va1-uid' }, { isGone: true })
    expect(await fixture.run()).toBe(WORK_COMPLETED)
    expect(fixture.calls).toHaveLength(1)
  })

  it('a detach does not change an attachment that is recreated during the unpublish', async () => {
    fixture.api.store(deleting())
    fixture.unpublish = async () => replaced()
    expect(await fixture.run()).toEqual({ kind: 'settled' })
    expect(fixture.api.get('va1')).toMatchObject({ metadata: { uid: 'later' }, status: { attached: false } })
    expect(fixture.calls).toHaveLength(1)
  })

  it('a failed detach stores no error in the recreated attachment', async () => {
    fixture.api.store(deleting())
    fixture.unpublish = async () => {
      replaced()
      throw new RpcError(CODES.Internal, 'no')
    }
    await fixture.run()
    expect(fixture.api.get('va1')).toMatchObject({ status: { attached: false } })
    expect(fixture.api.get('va1')).not.toHaveProperty('status.detachError')
  })
})
