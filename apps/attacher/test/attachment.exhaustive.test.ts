import { explore } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { attachmentModel } from '../src/testing/exhaustive/attachment-model.ts'
import type { AttachmentRules } from '../src/testing/exhaustive/attachment-state.ts'

/** The models, with their numbers of states. docs/testing.md contains the same numbers. */
const MODELS = [
  { name: 'the driver cannot list volumes', created: '', lists: false, most: 2, states: 26_552 },
  { name: 'the driver lists volumes', created: '', lists: true, most: 2, states: 63_804 },
  { name: 'the attachment has a foreign finalizer', created: 'O', lists: true, most: 1, states: 49_671 },
]

/** Faults of the attacher. Each must lead the model to a state from which the attachment never becomes correct. */
const BROKEN: readonly (readonly [fault: string, rules: Partial<AttachmentRules>])[] = [
  ['no change of an attachment starts a run', { onAttachment: () => [] }],
  ['the removal of our finalizer by another writer is not noticed', { hasLostFinalizer: () => false }],
  ['a published volume without an attachment is not unpublished', { onAttachmentEnd: () => () => [] }],
  ['a created volume wakes no attachment', { wakesOnVolume: () => [], onVolumeAdded: () => () => [] }],
  ['an attached attachment is never repaired', { decideKeep: () => [] }],
  ['a listing never disagrees with a status', { compareAttachment: () => ({ kind: 'same' }) }],
  ['a listing never shows that an error is outdated', { hasStaleError: () => false }],
]

describe('attachment model', () => {
  it.each(MODELS)(
    'no state of the model leaves an attachment stuck: $name',
    ({ states, ...options }) => {
      const explored = explore(attachmentModel(options))
      expect(explored.problem).toBeUndefined()
      expect(explored.states).toBe(states)
    },
    60_000,
  )

  it.each(BROKEN)(
    'the model finds a stuck attachment if %s',
    (_, rules) => {
      expect(explore(attachmentModel({ created: '', lists: true, most: 2, rules })).problem).toBeDefined()
    },
    60_000,
  )
})
