import { explore } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { VOLUME_RULES, type VolumeRules, volumeModel } from '../src/testing/exhaustive/volume-model.ts'

/** Faults of the attacher. Each must lead the model to a state from which the volume never becomes correct. */
const BROKEN: readonly (readonly [fault: string, rules: Partial<VolumeRules>])[] = [
  ['no change of the volume starts a run', { onVolume: () => [] }],
  ['the end of an attachment starts no run', { onAttachmentGone: () => [] }],
  ['the removal of our finalizer by another writer is not noticed', { hasLostFinalizer: () => false }],
  ['our finalizer is never restored', { needsFinalizer: () => false }],
  ['our finalizer is never removed', { releasePatch: () => undefined }],
  [
    'our finalizer is removed although another attachment names the volume',
    { releasePatch: (pv, _, settings) => VOLUME_RULES.releasePatch(pv, [], settings) },
  ],
]

describe("one PersistentVolume's finalizer", () => {
  it('no state of the model leaves the finalizer of a PersistentVolume stuck', () => {
    const explored = explore(volumeModel())
    expect(explored.problem).toBeUndefined()
    // docs/testing.md contains the same number of states.
    expect(explored.states).toBe(5_743)
  })

  it.each(BROKEN)('the model finds a stuck finalizer of a PersistentVolume if %s', (_, rules) => {
    expect(explore(volumeModel(rules)).problem).toBeDefined()
  })
})
