import { CancelledError } from '@csi-sidecars/base'
import { WORK_COMPLETED } from '@csi-sidecars/controller'
import { CODES, RpcError } from '@csi-sidecars/csi'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { apiError } from '../testing/api-error.ts'
import { deleting, FINALIZED, projectVolume, pv, ReconcileFixture, TIME, va } from '../testing/reconcile-fixture.ts'

const ADD_FINALIZER =
  'patch va1 [{"op":"test","path":"/metadata/uid","value":"va1-uid"},{"op":"test","path":"/metadata/annotations","value":null},{"op":"add","path":"/metadata/annotations","value":{"csi.alpha.kubernetes.io/node-id":"node1-id"}},{"op":"test","path":"/metadata/finalizers","value":null},{"op":"add","path":"/metadata/finalizers","value":["external-attacher/csi-example-com"]}]'

let fixture: ReconcileFixture
beforeEach(() => {
  fixture = new ReconcileFixture()
})

describe('attach', () => {
  it('an attach adds the finalizer, publishes, and stores the publish context, in two writes', async () => {
    fixture.publish = async () => ({ device: '/dev/x' })
    expect(await fixture.run()).toBe(WORK_COMPLETED)
    expect(fixture.api.requests).toEqual([
      ADD_FINALIZER,
      'patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"attached":true,"attachmentMetadata":{"device":"/dev/x"}}}',
    ])
    expect(fixture.calls).toEqual(['publish handle-1 node1-id {}'])
    expect(fixture.log.lines.filter(({ level }) => level === 2).map(({ message }) => message)).toEqual([
      'Attaching',
      'Attached',
    ])
  })

  it('an attach publishes only once the finalizer is stored', async () => {
    fixture.api.fail('patch va1 ', apiError(500, 'InternalError', 'etcd is away'))
    expect(await fixture.run()).toMatchObject({ kind: 'retry' })
    expect(fixture.calls).toEqual([])
    expect(fixture.api.requests.at(-1)).toBe(
      `patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"attachError":{"message":"could not save VolumeAttachment: etcd is away","time":"${TIME}"}}}`,
    )
  })

  it('an attach adds the finalizer of the volume before the finalizer of the attachment', async () => {
    fixture.api.store({ ...pv(), metadata: { name: 'pv1', uid: 'pv1-uid', finalizers: [] } })
    await fixture.run()
    expect(fixture.api.requests.slice(0, 2)).toEqual(['hold pv1', ADD_FINALIZER])
  })

  it('an attach reads the secret for the CSI call before it adds the finalizer', async () => {
    fixture.api.store(pv({ controllerPublishSecretRef: { name: 'creds', namespace: 'ns' } }))
    fixture.api.store({ metadata: { name: 'creds' }, data: { key: Buffer.from('word').toString('base64') } } as never)
    await fixture.run()
    expect(fixture.api.requests.slice(0, 2)).toEqual(['get creds', ADD_FINALIZER])
    expect(fixture.calls).toEqual(['publish handle-1 node1-id {"key":"word"}'])
  })

  it('an attach reports a missing secret, and adds no finalizer', async () => {
    fixture.api.store(pv({ controllerPublishSecretRef: { name: 'creds', namespace: 'ns' } }))
    fixture.api.fail('get creds', apiError(404, 'NotFound', 'secrets "creds" not found'))
    await fixture.run()
    expect(fixture.api.requests).toEqual([
      'get creds',
      `patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"attachError":{"message":"failed to load secret \\"ns/creds\\": secrets \\"creds\\" not found","time":"${TIME}"}}}`,
    ])
  })

  it('an attach stores the error of the driver with its code', async () => {
    fixture.publish = () => Promise.reject(new RpcError(CODES.ResourceExhausted, 'node is full'))
    const outcome = await fixture.run()
    expect(outcome).toMatchObject({
      kind: 'retry',
      cause: new Error('failed to attach: rpc error: code = ResourceExhausted desc = node is full'),
    })
    expect(fixture.api.requests.at(-1)).toBe(
      `patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"attachError":{"message":"rpc error: code = ResourceExhausted desc = node is full","time":"${TIME}","errorCode":8}}}`,
    )
  })

  it('an attach stores no error code if the feature gate `MutableCSINodeAllocatableCount` is off', async () => {
    fixture.publish = () => Promise.reject(new RpcError(CODES.Internal, 'x'))
    await fixture.run({ recordErrorCode: false })
    expect(fixture.api.requests.at(-1)).not.toContain('errorCode')
  })

  it('an attach retries after the pause that the driver asks for', async () => {
    fixture.publish = () => Promise.reject(new RpcError(CODES.Unavailable, 'busy', { retryAfterMs: 3_000 }))
    // `runTerm` takes the pause from the chain of causes.
    expect(await fixture.run()).toMatchObject({ kind: 'retry', cause: { cause: { retryAfterMs: 3_000 } } })
  })

  it('an attach clears the error of an earlier try when it succeeds', async () => {
    fixture.api.store(va({ metadata: FINALIZED, status: { attachError: { message: 'x', time: TIME } } }))
    await fixture.run()
    expect(fixture.api.requests).toEqual([
      'patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"attached":true,"attachError":null}}',
    ])
  })

  it('an attach stores no attach error if the publish succeeds and only the status write fails', async () => {
    fixture.api.fail('patch va1/status', apiError(500, 'InternalError', 'no'))
    expect(await fixture.run()).toMatchObject({ kind: 'retry', cause: new Error('failed to mark as attached: no') })
    expect(fixture.api.requests.filter((request) => request.includes('attachError'))).toEqual([])
  })

  it('an attach stores no attach error if the API server asks to retry later', async () => {
    fixture.api.fail('patch va1 ', apiError(429, 'TooManyRequests'))
    expect(await fixture.run()).toMatchObject({ kind: 'retry' })
    expect(fixture.api.requests).toEqual([ADD_FINALIZER])
  })

  it('an attach stores no attach error if the driver disconnects', async () => {
    fixture.publish = () => {
      fixture.lost = true
      return Promise.reject(new RpcError(CODES.Unavailable, 'connection to the CSI driver lost'))
    }
    expect(await fixture.run()).toMatchObject({ kind: 'retry' })
    expect(fixture.api.requests).toEqual([ADD_FINALIZER])
  })

  it('an attach that is cancelled during the publish writes nothing', async () => {
    fixture.publish = () => {
      fixture.signal.abort(new CancelledError('the lease is lost'))
      return Promise.reject(new RpcError(CODES.Canceled, 'context canceled'))
    }
    await expect(fixture.run()).rejects.toThrow('the lease is lost')
    expect(fixture.api.requests).toEqual([ADD_FINALIZER])
  })

  it('an attach retries if its error cannot be stored', async () => {
    fixture.publish = () => Promise.reject(new RpcError(CODES.Internal, 'x'))
    fixture.api.fail('patch va1/status', apiError(422, 'Invalid', 'too long'))
    expect(await fixture.run()).toMatchObject({ kind: 'retry' })
    const line = { level: 2, message: 'Failed to save attach error to VolumeAttachment', pairs: { err: 'too long' } }
    expect(fixture.log.lines).toContainEqual(
      expect.objectContaining({ ...line, pairs: expect.objectContaining(line.pairs) }),
    )
  })

  it('an attach waits for a missing volume until a run finds it', async () => {
    fixture.api.objects.delete('pv1')
    await fixture.run()
    expect(fixture.lastRun.waitsFor).toEqual([{ kind: 'volume', name: 'pv1' }])
    fixture.api.store(pv())
    await fixture.run()
    expect(fixture.lastRun.waitsFor).toEqual([])
  })

  it('an attach sends nothing if the attachment is gone or attached', async () => {
    fixture.api.objects.delete('va1')
    expect(await fixture.run()).toEqual({ kind: 'settled' })
    fixture.api.store(va({ metadata: FINALIZED, status: { attached: true } }))
    expect(await fixture.run()).toEqual({ kind: 'settled' })
    expect(fixture.api.requests).toEqual([])
  })

  it('an attach publishes again if a listing disagrees with the status, and does not write an unchanged status', async () => {
    fixture.api.store(va({ metadata: FINALIZED, status: { attached: true } }))
    fixture.memory.update({ uid: 'va1-uid' }, { listing: 'different' })
    await fixture.run()
    await fixture.run()
    expect(fixture.calls).toHaveLength(1)
    expect(fixture.api.requests).toEqual([])
  })

  it('an attach with a secret that is not UTF-8 text fails without a CSI call', async () => {
    fixture.api.store(pv({ controllerPublishSecretRef: { name: 'creds', namespace: 'ns' } }))
    fixture.api.store({ metadata: { name: 'creds' }, data: { key: Buffer.from([0xff]).toString('base64') } } as never)
    await fixture.run()
    expect(fixture.calls).toEqual([])
    expect(fixture.api.requests.at(-1)).toContain('"errorCode":13')
  })
})

describe('recreated volume', () => {
  beforeEach(() => fixture.api.store({ ...pv(), metadata: { name: 'pv1', uid: 'pv1-uid', finalizers: [] } }))

  it.each([
    { name: 'a recreated volume', pv: () => projectVolume({ ...pv(), metadata: { ...pv().metadata, uid: 'later' } }) },
    { name: 'other access modes', pv: () => ({ ...projectVolume(pv()), modes: 0 }) },
    { name: 'no volume', pv: () => undefined },
  ])('an attach is enqueued again if the patch of the volume returns $name', async ({ pv: answer }) => {
    fixture.volumeAfterWrite = answer
    expect(await fixture.run()).toEqual({ kind: 'again' })
    expect([fixture.api.requests, fixture.calls]).toEqual([['hold pv1'], []])
  })

  it('an attach checks the volume that the patch of the finalizer returns', async () => {
    fixture.volumeAfterWrite = () => ({ ...projectVolume(pv()), deleting: true })
    expect(await fixture.run()).toMatchObject({ kind: 'retry' })
    expect(fixture.calls).toEqual([])
    expect(fixture.api.requests.at(-1)).toContain('is marked for deletion')
    expect(fixture.lastRun.waitsFor).toEqual([{ kind: 'volume', name: 'pv1' }])
  })

  it("an attach of another driver's volume uses the source that was read before the patch of the finalizer", async () => {
    fixture.volumeAfterWrite = () => ({ ...projectVolume(pv()), spec: undefined })
    expect(await fixture.run()).toBe(WORK_COMPLETED)
    expect(fixture.calls).toEqual(['publish handle-1 node1-id {}'])
  })

  it('an attach waits for the volume if the patch of its finalizer returns 404', async () => {
    fixture.volumeAfterWrite = () => {
      throw apiError(404, 'NotFound', 'persistentvolumes "pv1" not found')
    }
    expect(await fixture.run()).toMatchObject({ kind: 'retry' })
    expect(fixture.lastRun.waitsFor).toEqual([{ kind: 'volume', name: 'pv1' }])
  })
})

it('an attach whose queue group has changed is queued again, and publishes in its next run', async () => {
  fixture.api.store(va({ metadata: FINALIZED, status: { attached: true } }))
  fixture.memory.update({ uid: 'va1-uid' }, { listing: 'different' })
  expect(await fixture.run({ placementUnchanged: () => false })).toEqual({ kind: 'again' })
  expect([fixture.api.requests, fixture.calls]).toEqual([[], []])
  await fixture.run()
  expect(fixture.calls).toHaveLength(1)
})

describe('refusals', () => {
  it('a publish that the driver refuses waits for our next detach of the volume', async () => {
    fixture.publish = () => Promise.reject(new RpcError(CODES.FailedPrecondition, 'attached elsewhere'))
    await fixture.run()
    expect(fixture.lastRun.waitsFor).toEqual([{ kind: 'unpublish', name: 'handle-1' }])
    fixture.publish = async () => ({})
    await fixture.run()
    expect(fixture.lastRun.waitsFor).toEqual([])
    fixture.api.store(deleting())
    await fixture.run()
    expect(fixture.woken).toEqual([{ kind: 'unpublish', name: 'handle-1' }])
  })

  it('an unpublish that the driver refuses wakes no waiting publish', async () => {
    fixture.api.store(deleting())
    fixture.unpublish = () => Promise.reject(new RpcError(CODES.Internal, 'no'))
    await fixture.run()
    expect(fixture.woken).toEqual([])
  })
})
