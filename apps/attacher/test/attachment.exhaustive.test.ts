import { explore } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { attachmentModel } from '../src/testing/exhaustive/attachment-model.ts'
import type { AttachmentRules } from '../src/testing/exhaustive/attachment-state.ts'

/** The numbers of states are in docs/testing.md. */
const MODELS = [
  { name: 'of a driver that cannot list', created: '', lists: false, most: 2, states: 26_552 },
  { name: 'of a driver that lists', created: '', lists: true, most: 2, states: 63_804 },
  { name: 'that another finalizer keeps', created: 'O', lists: true, most: 1, states: 49_671 },
]

/** Each fault leaves a state from which no move leads to the goal. */
const BROKEN: readonly (readonly [fault: string, rules: Partial<AttachmentRules>])[] = [
  ['no change of an attachment is due', { onAttachment: () => [] }],
  ['a lost finalizer goes unnoticed', { hasLostFinalizer: () => false }],
  ['an orphaned publication is not looked for', { onAttachmentEnd: () => () => [] }],
  ['a volume that comes is no cause', { causesOfVolume: () => [], onVolumeAdded: () => () => [] }],
  ['an attached one is left as it is', { decideKeep: () => [] }],
  ['a listing never disagrees', { compare: () => ({ is: 'same' }) }],
  ['a listing never confirms', { hasStaleError: () => false }],
]

describe('one attachment with its volume and node', () => {
  it.each(MODELS)(
    'no reachable state is stuck: $name',
    ({ states, ...options }) => {
      const explored = explore(attachmentModel(options))
      expect(explored.problem).toBeUndefined()
      expect(explored.states).toBe(states)
    },
    60_000,
  )

  it.each(BROKEN)(
    'a state is stuck if %s',
    (_, rules) => {
      expect(explore(attachmentModel({ created: '', lists: true, most: 2, rules })).problem).toBeDefined()
    },
    60_000,
  )
})
