import { DONE } from '@csi-sidecars/controller'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { undoneAgain } from '../term/undone-write.ts'
import { apiError } from '../testing/api-error.ts'
import { FINALIZED, ReconcileFixture, TIME, va } from '../testing/reconcile-fixture.ts'
import { attachment, FINALIZER, view, withFinalizer } from '../testing/views.ts'
import { decideAttached, hasStaleError } from './decide-attached.ts'

const attachError = { message: 'no', time: TIME }
const VA = { uid: 'va1-uid' }

/** Another writer removes our finalizer from the attachment. */
function noteRemoval({ memory, clock }: ReconcileFixture): void {
  const backoff = { baseMs: 1_000, maxMs: 60_000 }
  memory.note(VA, { finalizerRemoved: undoneAgain(memory.of(VA).finalizerRemoved, { backoff, clock }) })
}

describe('for one that is attached there', () => {
  const attached = { attached: true }
  it.each([
    ['is nothing to do', { va: withFinalizer(attached) }, []],
    ['is nothing to do where it lacked our finalizer from the start', { va: attachment(attached) }, []],
    [
      'is a finalizer to restore',
      { va: attachment(attached), stripped: true },
      [{ do: 'restoreFinalizer', finalizer: FINALIZER }],
    ],
    ['is none to restore that is there', { va: withFinalizer(attached), stripped: true }, []],
    ['is an error that the listing does not confirm yet', { va: withFinalizer({ ...attached, attachError }) }, []],
    [
      'is an error to clear',
      { va: withFinalizer({ ...attached, attachError }), confirmed: true },
      [{ do: 'clearError' }],
    ],
  ])('%s', (_, change, steps) => {
    expect(decideAttached(view(change))).toEqual(steps)
  })
})

it.each([
  ['an attach error beside attached', withFinalizer({ attached: true, attachError }), true],
  ['an attach error of one that is not attached', withFinalizer({ attachError }), false],
  ['a detach error beside attached', withFinalizer({ attached: true, detachError: attachError }), false],
  ['a detach error of one that is detached', attachment({ deleting: true, detachError: attachError }), true],
  ['metadata of one that is detached', attachment({ deleting: true, metadata: { a: 'b' } }), true],
  ['a detach error of one that is not detached', withFinalizer({ deleting: true, detachError: attachError }), false],
])('%s is stale where the listing confirms the status: %#', (_, object, stale) => {
  expect(hasStaleError(object, FINALIZER)).toBe(stale)
})

describe('a run', () => {
  let fixture: ReconcileFixture
  beforeEach(() => {
    fixture = new ReconcileFixture()
  })

  it('restores our finalizer beside those of others, without a call', async () => {
    fixture.api.put(va({ metadata: { finalizers: ['a/b'] }, status: { attached: true } }))
    noteRemoval(fixture)
    expect(await fixture.run()).toEqual({ kind: 'settled' })
    expect(fixture.api.get('va1')?.metadata.finalizers).toEqual(['a/b', FINALIZER])
    expect(fixture.calls).toEqual([])
  })

  it('waits where another writer removes it again and again', async () => {
    fixture.api.put(va({ status: { attached: true } }))
    noteRemoval(fixture)
    noteRemoval(fixture)
    expect(await fixture.run()).toEqual({ kind: 'postponed', ms: 1_000 })
    expect(fixture.api.requests).toEqual([])
  })

  it('is a failure, but no attach error, where the finalizer is refused', async () => {
    fixture.api.put(va({ status: { attached: true } }))
    noteRemoval(fixture)
    fixture.api.fail('patch va1 ', apiError(403, 'Forbidden', 'policy'))
    await expect(fixture.run()).rejects.toThrow('could not restore the finalizer: policy')
    expect(fixture.api.requests.filter((each) => each.includes('attachError'))).toEqual([])
  })

  it('is refused once where the server refuses the same patch for another reason', async () => {
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

  it('keeps the force mark of an attach that fails', async () => {
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
