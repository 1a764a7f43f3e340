import { describe, expect, it } from '@jest/globals'
import { TIME } from '../testing/reconcile-fixture.ts'
import { attachment, FINALIZER, view, withFinalizer } from '../testing/views.ts'
import { hasStaleError } from './checks.ts'
import { decide, type KeepStep, operationOf } from './decide.ts'
import type { AttachmentView } from './observe.ts'

const attachError = { message: 'no', time: TIME }
const attached = { attached: true }

describe('operationOf', () => {
  const rows: [string, Partial<AttachmentView>, string, string | undefined][] = [
    ['attaches a new attachment', {}, 'attach', 'publish'],
    ['keeps an attached attachment', { va: withFinalizer(attached) }, 'keep', undefined],
    ['keeps an attached attachment without our finalizer', { va: attachment(attached) }, 'keep', undefined],
    [
      'attaches an attached attachment again if a listing disagrees',
      { va: withFinalizer(attached), listingDiffers: true },
      'attach',
      'publish',
    ],
    ['detaches if it is deleted', { va: withFinalizer({ ...attached, deleting: true }) }, 'detach', 'removeFinalizer'],
    [
      'detaches a deleted attachment that was never attached',
      { va: attachment({ deleting: true }), listingDiffers: true },
      'detach',
      'unpublish',
    ],
  ]
  it.each(rows)('the attacher %s', (_, change, operation, lastStep) => {
    expect(operationOf(view(change))).toBe(operation)
    const plan = decide(view(change))
    expect([plan.operation, plan.steps.at(-1)?.kind]).toEqual([operation, lastStep])
  })
})

describe('the plan for an attached attachment', () => {
  const rows: [string, Partial<AttachmentView>, KeepStep[]][] = [
    ['plans no step if the attachment has our finalizer and no error', { va: withFinalizer(attached) }, []],
    ['does not add our finalizer if it was missing from the start', { va: attachment(attached) }, []],
    [
      'restores our finalizer if another writer has removed it',
      { va: attachment(attached), finalizerRemoved: true },
      [{ kind: 'restoreFinalizer', finalizer: FINALIZER }],
    ],
    ['does not restore an existing finalizer', { va: withFinalizer(attached), finalizerRemoved: true }, []],
    ['keeps an error until a listing confirms the attach', { va: withFinalizer({ ...attached, attachError }) }, []],
    [
      'clears an error if a listing confirms the attach',
      { va: withFinalizer({ ...attached, attachError }), listingAgrees: true },
      [{ kind: 'clearError' }],
    ],
  ]
  it.each(rows)('for an attached attachment, the attacher %s', (_, change, steps) => {
    expect(decide(view(change)).steps).toEqual(steps)
  })
})

describe('hasStaleError', () => {
  it.each([
    ['an attached attachment with an attach error', withFinalizer({ attached: true, attachError }), true],
    ['a new attachment with an attach error', withFinalizer({ attachError }), false],
    ['an attached attachment with a detach error', withFinalizer({ attached: true, detachError: attachError }), false],
    ['a detached attachment with a detach error', attachment({ deleting: true, detachError: attachError }), true],
    ['a detached attachment with metadata', attachment({ deleting: true, metadata: { a: 'b' } }), true],
    ['a detached attachment without error and metadata', attachment({ deleting: true }), false],
    ['a failed detach with its error', withFinalizer({ deleting: true, detachError: attachError }), false],
  ])('the attacher decides whether an error or metadata is outdated for %s: case %#', (_, object, stale) => {
    expect(hasStaleError(object, FINALIZER)).toBe(stale)
  })
})
