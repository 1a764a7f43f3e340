import { SETTLED, WORK_COMPLETED } from '@csi-sidecars/controller'
import { CODES, RpcError } from '@csi-sidecars/csi'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { apiError } from '../testing/api-error.ts'
import { deleting, project, ReconcileFixture, TIME, va } from '../testing/reconcile-fixture.ts'
import { FINALIZER, view } from '../testing/views.ts'

const REMOVE_FINALIZER =
  'patch va1 [{"op":"test","path":"/metadata/uid","value":"va1-uid"},{"op":"test","path":"/metadata/finalizers/0","value":"external-attacher/csi-example-com"},{"op":"remove","path":"/metadata/finalizers/0"}]'

let fixture: ReconcileFixture
beforeEach(() => {
  fixture = new ReconcileFixture()
})

describe('detach', () => {
  beforeEach(() => fixture.api.store(deleting()))

  it('a detach unpublishes, and then removes the finalizer in one write', async () => {
    expect(await fixture.run()).toBe(WORK_COMPLETED)
    expect(fixture.calls).toEqual(['unpublish handle-1 node1-id {}'])
    expect(fixture.api.requests).toEqual([REMOVE_FINALIZER])
  })

  it('a detach writes the status if a foreign finalizer keeps the attachment in the API', async () => {
    fixture.api.store(deleting({ finalizers: ['a/b', FINALIZER] }))
    await fixture.run()
    expect(fixture.api.requests).toEqual([
      'patch va1 [{"op":"test","path":"/metadata/uid","value":"va1-uid"},{"op":"test","path":"/metadata/finalizers/1","value":"external-attacher/csi-example-com"},{"op":"remove","path":"/metadata/finalizers/1"}]',
      'patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"attached":false}}',
    ])
  })

  it('a detach repeats a failed status write without another unpublish', async () => {
    fixture.api.store(deleting({ finalizers: ['a/b', FINALIZER] }))
    fixture.api.fail('patch va1/status', apiError(500, 'InternalError', 'no'))
    expect(await fixture.run()).toMatchObject({
      kind: 'retry',
      cause: new Error('failed to detach: could not mark as detached: no'),
    })
    expect(await fixture.run()).toBe(WORK_COMPLETED)
    expect(await fixture.run()).toBe(SETTLED)
    expect(fixture.calls).toHaveLength(1)
    expect(fixture.api.requests).toEqual([
      'patch va1 [{"op":"test","path":"/metadata/uid","value":"va1-uid"},{"op":"test","path":"/metadata/finalizers/1","value":"external-attacher/csi-example-com"},{"op":"remove","path":"/metadata/finalizers/1"}]',
      'patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"attached":false}}',
      `patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"detachError":{"message":"could not mark as detached: no","time":"${TIME}"}}}`,
      'patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"attached":false,"detachError":null}}',
    ])
  })

  it('a detach drops a pending status write once the attachment is gone', async () => {
    fixture.api.store(deleting({ finalizers: ['a/b', FINALIZER] }))
    fixture.api.fail('patch va1/status', apiError(429, 'TooManyRequests'))
    await fixture.run()
    expect(fixture.memory.recordOf({ uid: 'va1-uid' }).mustWriteStatus).toBe(true)
    fixture.api.objects.delete('va1')
    expect(await fixture.run()).toEqual({ kind: 'settled' })
    expect(fixture.api.requests).toHaveLength(2)
  })

  it('a detach drops a pending status write if the API server reports that the attachment is gone', async () => {
    fixture.api.store(deleting({ finalizers: ['a/b', FINALIZER] }))
    fixture.unpublish = async () => {
      fixture.late.set('va1', deleting({ finalizers: ['a/b', FINALIZER] }))
    }
    const gone = apiError(404, 'NotFound')
    fixture.api.fail('patch va1/status', gone)
    fixture.api.fail('get va1', gone)
    expect(await fixture.run()).toEqual({ kind: 'settled' })
    expect(fixture.memory.recordOf({ uid: 'va1-uid' }).mustWriteStatus).toBe(false)
  })

  it('a failed detach stores the error without a code, and keeps the finalizer', async () => {
    fixture.unpublish = () => Promise.reject(new RpcError(CODES.NotFound, 'no such volume'))
    expect(await fixture.run()).toMatchObject({
      kind: 'retry',
      cause: new Error('failed to detach: rpc error: code = NotFound desc = no such volume'),
    })
    expect(fixture.api.requests).toEqual([
      `patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"detachError":{"message":"rpc error: code = NotFound desc = no such volume","time":"${TIME}"}}}`,
    ])
  })

  it('a detach unpublishes again if the finalizer could not be removed', async () => {
    fixture.api.fail('patch va1 ', apiError(500, 'InternalError', 'no'))
    expect(await fixture.run()).toMatchObject({ kind: 'retry' })
    expect(fixture.api.requests.at(-1)).toContain('could not mark as detached: no')
    await fixture.run()
    expect(fixture.calls).toHaveLength(2)
    expect(fixture.api.requests.at(-1)).toBe(REMOVE_FINALIZER)
  })

  it('a repeated unpublish writes nothing if the attachment has no finalizer and is not marked as attached', async () => {
    fixture.api.store(va({ metadata: { deletionTimestamp: TIME } }))
    fixture.memory.update({ uid: 'va1-uid' }, { listing: 'different' })
    await fixture.run()
    expect(fixture.calls).toHaveLength(1)
    expect(fixture.api.requests).toEqual([])
  })

  it('a repeated unpublish writes the status if the attachment has no finalizer but is marked as attached', async () => {
    fixture.api.store(va({ metadata: { deletionTimestamp: TIME }, status: { attached: true } }))
    fixture.memory.update({ uid: 'va1-uid' }, { listing: 'different' })
    await fixture.run()
    expect(fixture.api.requests).toEqual([
      'patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"attached":false}}',
    ])
  })
})

it('a detach uses the node ID of the publish, even if the ID of the node has changed', async () => {
  await fixture.run()
  fixture.api.store(deleting({ annotations: { 'csi.alpha.kubernetes.io/node-id': 'new' } }))
  await fixture.run({
    observe: async () =>
      view({
        va: project(deleting()),
        node: { kind: 'id', nodeId: 'new' },
        publications: fixture.memory.recordOf({ uid: 'va1-uid' }).publications,
      }),
  })
  expect(fixture.calls.at(-1)).toBe('unpublish handle-1 node1-id {}')
  expect(fixture.memory.recordOf({ uid: 'va1-uid' }).publications).toEqual([])
})
