import { explore } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { VOLUME_RULES, type VolumeRules, volumeModel } from '../src/testing/exhaustive/volume-model.ts'

/** Each fault leaves a state from which no move leads to the goal. */
const BROKEN: readonly (readonly [fault: string, rules: Partial<VolumeRules>])[] = [
  ['no change of it is due', { onVolume: () => [] }],
  ['the end of an attachment is not noticed', { onAttachmentGone: () => [] }],
  ['a lost finalizer goes unnoticed', { hasLostFinalizer: () => false }],
  ['it never needs its finalizer back', { needsFinalizer: () => false }],
  ['it is never released', { decideRelease: () => undefined }],
  [
    'it is released though another attachment has it',
    { decideRelease: (pv, _, settings) => VOLUME_RULES.decideRelease(pv, [], settings) },
  ],
]

describe("one PersistentVolume's finalizer", () => {
  it('no reachable state is stuck', () => {
    const explored = explore(volumeModel())
    expect(explored.problem).toBeUndefined()
    // The number of states is in docs/testing.md.
    expect(explored.states).toBe(5_743)
  })

  it.each(BROKEN)('a state is stuck if %s', (_, rules) => {
    expect(explore(volumeModel(rules)).problem).toBeDefined()
  })
})
