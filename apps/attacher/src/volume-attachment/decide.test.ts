import { describe, expect, it } from '@jest/globals'
import { TIME } from '../testing/reconcile-fixture.ts'
import { attachment, FINALIZER, view, withFinalizer } from '../testing/views.ts'
import { checked, hasStaleError } from './checks.ts'
import { decide, type KeepStep, operationOf } from './decide.ts'
import type { AttachmentView } from './observe.ts'

const attachError = { message: 'no', time: TIME }
const attached = { attached: true }

describe('operationOf', () => {
  const rows: [string, Partial<AttachmentView>, string, string | undefined][] = [
    ['attaches a new attachment', {}, 'attach', 'publish'],
    ['keeps an attached one', { va: withFinalizer(attached) }, 'keep', undefined],
    ['keeps an attached one without our finalizer', { va: attachment(attached) }, 'keep', undefined],
    [
      'attaches an attached one again if a listing disagrees',
      { va: withFinalizer(attached), forced: true },
      'attach',
      'publish',
    ],
    ['detaches a deleted one', { va: withFinalizer({ ...attached, deleting: true }) }, 'detach', 'removeFinalizer'],
    [
      'detaches a deleted one that was never attached',
      { va: attachment({ deleting: true }), forced: true },
      'detach',
      'unpublish',
    ],
  ]
  it.each(rows)('%s', (_, change, operation, lastStep) => {
    expect(operationOf(view(change))).toBe(operation)
    const plan = decide(view(change))
    expect([plan.operation, plan.steps.at(-1)?.do]).toEqual([operation, lastStep])
  })
})

describe('the plan of an attached attachment', () => {
  const rows: [string, Partial<AttachmentView>, KeepStep[]][] = [
    ['is empty if it has our finalizer and no error', { va: withFinalizer(attached) }, []],
    ['does not add our finalizer if it was missing from the start', { va: attachment(attached) }, []],
    [
      'restores our finalizer if another writer has removed it',
      { va: attachment(attached), stripped: true },
      [{ do: 'restoreFinalizer', finalizer: FINALIZER }],
    ],
    ['restores no finalizer that is there', { va: withFinalizer(attached), stripped: true }, []],
    ['keeps an error that no listing has made stale', { va: withFinalizer({ ...attached, attachError }) }, []],
    [
      'clears an error that a listing has made stale',
      { va: withFinalizer({ ...attached, attachError }), confirmed: true },
      [{ do: 'clearError' }],
    ],
  ]
  it.each(rows)('%s', (_, change, steps) => {
    expect(decide(view(change)).steps).toEqual(steps)
  })
})

describe('checked', () => {
  it('returns a fact, and throws without it', () => {
    expect(checked('id')).toBe('id')
    expect(() => checked(undefined)).toThrow('an earlier check ends the plan without this fact')
  })
})

describe('hasStaleError', () => {
  it.each([
    ['an attach error beside attached', withFinalizer({ attached: true, attachError }), true],
    ['an attach error of one that is not attached', withFinalizer({ attachError }), false],
    ['a detach error beside attached', withFinalizer({ attached: true, detachError: attachError }), false],
    ['a detach error of one that is detached', attachment({ deleting: true, detachError: attachError }), true],
    ['metadata of one that is detached', attachment({ deleting: true, metadata: { a: 'b' } }), true],
    ['one that is detached, without error and metadata', attachment({ deleting: true }), false],
    ['a detach error of one that is not detached', withFinalizer({ deleting: true, detachError: attachError }), false],
  ])('returns for %s: case %#', (_, object, stale) => {
    expect(hasStaleError(object, FINALIZER)).toBe(stale)
  })
})
