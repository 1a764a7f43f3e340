import { explore } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { PARTS, type Parts, volumeModel } from '../src/testing/exhaustive/volume-model.ts'

/** Each of them leaves a state behind from which nothing leads on. */
const BROKEN: readonly (readonly [fault: string, parts: Partial<Parts>])[] = [
  ['no change of it is due', { onVolume: () => [] }],
  ['the end of an attachment is not noticed', { onAttachmentGone: () => [] }],
  ['a lost finalizer goes unnoticed', { hasLostFinalizer: () => false }],
  ['it never needs its finalizer back', { needsFinalizer: () => false }],
  ['it is never released', { decideRelease: () => undefined }],
  [
    'it is released though another attachment has it',
    { decideRelease: (pv, _, settings) => PARTS.decideRelease(pv, [], settings) },
  ],
]

describe("one PersistentVolume's finalizer", () => {
  it('no reachable state is stuck', () => {
    const explored = explore(volumeModel())
    expect(explored.problem).toBeUndefined()
    // docs/testing.md names this number.
    expect(explored.states).toBe(5_743)
  })

  it.each(BROKEN)('one is where %s', (_, parts) => {
    expect(explore(volumeModel(parts)).problem).toBeDefined()
  })
})
