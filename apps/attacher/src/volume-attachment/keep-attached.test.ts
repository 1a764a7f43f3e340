import { DONE } from '@csi-sidecars/controller'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { undoneAgain } from '../term/undone-write.ts'
import { apiError } from '../testing/api-error.ts'
import { FINALIZED, ReconcileFixture, TIME, va } from '../testing/reconcile-fixture.ts'
import { FINALIZER } from '../testing/views.ts'

const attachError = { message: 'no', time: TIME }
const VA = { uid: 'va1-uid' }

/** Another writer removes our finalizer from the attachment. */
function noteRemoval({ memory, clock }: ReconcileFixture): void {
  const backoff = { baseMs: 1_000, maxMs: 60_000 }
  memory.note(VA, { finalizerRemoved: undoneAgain(memory.of(VA).finalizerRemoved, { backoff, clock }) })
}

describe('a run over an attached attachment', () => {
  let fixture: ReconcileFixture
  beforeEach(() => {
    fixture = new ReconcileFixture()
  })

  it('restores our finalizer, keeps those of others, and makes no call', async () => {
    fixture.api.put(va({ metadata: { finalizers: ['a/b'] }, status: { attached: true } }))
    noteRemoval(fixture)
    expect(await fixture.run()).toEqual({ kind: 'settled' })
    expect(fixture.api.get('va1')?.metadata.finalizers).toEqual(['a/b', FINALIZER])
    expect(fixture.calls).toEqual([])
  })

  it('waits if another writer removes it repeatedly', async () => {
    fixture.api.put(va({ status: { attached: true } }))
    noteRemoval(fixture)
    noteRemoval(fixture)
    expect(await fixture.run()).toEqual({ kind: 'postponed', ms: 1_000 })
    expect(fixture.api.requests).toEqual([])
  })

  it('fails without an attach error if the API server refuses the finalizer', async () => {
    fixture.api.put(va({ status: { attached: true } }))
    noteRemoval(fixture)
    fixture.api.fail('patch va1 ', apiError(403, 'Forbidden', 'policy'))
    await expect(fixture.run()).rejects.toThrow('could not restore the finalizer: policy')
    expect(fixture.api.requests.filter((each) => each.includes('attachError'))).toEqual([])
  })

  it('fails after one patch if the API server refuses it for another reason', async () => {
    fixture.api.put(va({ status: { attached: true } }))
    noteRemoval(fixture)
    fixture.api.fail('patch va1 ', apiError(422, 'Invalid', 'policy'), 9)
    await expect(fixture.run()).rejects.toThrow('policy')
    expect(fixture.api.requests.map((each) => each.split(' ')[0])).toEqual(['patch', 'get'])
  })

  it('clears the error that a listing has made stale, once', async () => {
    fixture.api.put(va({ metadata: FINALIZED, status: { attached: true, attachError } }))
    fixture.memory.note(VA, { listing: 'same' })
    await fixture.run()
    await fixture.run()
    expect(fixture.api.requests).toEqual([
      'patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"attachError":null}}',
    ])
  })

  it('keeps the result of the listing while a forced attach fails', async () => {
    fixture.api.put(va({ metadata: FINALIZED, status: { attached: true } }))
    fixture.memory.note(VA, { listing: 'different' })
    fixture.publish = () => Promise.reject(new Error('no'))
    expect(await fixture.run()).toMatchObject({ kind: 'retry' })
    fixture.publish = async () => ({})
    expect(await fixture.run()).toBe(DONE)
    expect(fixture.calls).toHaveLength(2)
    expect((fixture.api.get('va1') as unknown as { status: object }).status).toEqual({ attached: true })
  })
})
