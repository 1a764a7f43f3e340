import { WORK_COMPLETED } from '@csi-sidecars/controller'
import { CODES, RpcError } from '@csi-sidecars/csi'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { ReconcileFixture } from '../testing/reconcile-fixture.ts'

const KEY = 'handle-9 on node1-id'

let fixture: ReconcileFixture
beforeEach(() => {
  fixture = new ReconcileFixture()
  const request = { volumeId: 'handle-9', nodeId: 'node1-id' }
  const publication = {
    volume: 'handle-9',
    nodeName: 'node1',
    request,
    secret: undefined,
    migrated: false,
  }
  fixture.memory.recordPublish({ uid: 'gone' }, publication)
  fixture.memory.forget({ uid: 'gone' })
})

describe('reconcileOrphanedPublication', () => {
  it('the unpublish of an orphaned volume logs the volume handle and the node ID', async () => {
    expect(await fixture.run({}, KEY)).toBe(WORK_COMPLETED)
    const pairs = { volumeHandle: 'handle-9', nodeID: 'node1-id' }
    expect(fixture.log.lines.filter(({ level }) => level === 2)).toMatchObject([{ pairs }, { pairs }])
    expect(fixture.memory.orphanedPublication(KEY)).toBeUndefined()
  })

  it('the unpublish of an orphaned volume passes the signal and the logger of its run to the CSI call', async () => {
    const options: unknown[] = []
    const unpublish = async (_: object, callOptions: object) => {
      options.push(callOptions)
      fixture.signal.abort(new Error('enough'))
      throw new RpcError(CODES.Internal, 'no')
    }
    await expect(fixture.run({ driver: { unpublish, lost: false } as never }, KEY)).rejects.toThrow('enough')
    expect(options).toMatchObject([{ migrated: false, signal: fixture.signal.signal, log: expect.anything() }])
  })

  it('the unpublish of an orphaned volume retries after an error of the driver', async () => {
    const refusal = new RpcError(CODES.Internal, 'no')
    fixture.unpublish = () => Promise.reject(refusal)
    expect(await fixture.run({}, KEY)).toMatchObject({ kind: 'retry', cause: { cause: refusal } })
    expect(fixture.memory.orphanedPublication(KEY)).toBeDefined()
  })
})
