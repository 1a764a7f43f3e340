import { describe, expect, it } from '@jest/globals'
import { attachment } from '../testing/views.ts'
import { triviallyAttachedPatch } from '../volume-attachment/patches.ts'
import { decideTrivial } from './decide.ts'

describe('decideTrivial', () => {
  const va = attachment()
  const marked = [{ kind: 'markAttached', patch: triviallyAttachedPatch(va) }]

  it('an attachment is marked as attached', () => {
    expect(decideTrivial({ va, undoneWaitMs: 0 })).toEqual(marked)
  })

  it('an attachment whose mark is undone repeatedly waits', () => {
    expect(decideTrivial({ va, undoneWaitMs: 7 })).toEqual([{ kind: 'postpone', ms: 7 }])
  })

  it('an attachment that is marked, or that belongs to another attacher, needs no step', () => {
    expect(decideTrivial({ va: { ...va, attached: true }, undoneWaitMs: 7 })).toEqual([])
    expect(decideTrivial({ va: { ...va, ours: false }, undoneWaitMs: 7 })).toEqual([])
  })
})
