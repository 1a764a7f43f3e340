import { FakeClock } from '@csi-sidecars/base/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { AttachmentMemory } from './memory.ts'

let memory: AttachmentMemory
beforeEach(() => {
  memory = new AttachmentMemory({ baseMs: 1_000, maxMs: 60_000, clock: new FakeClock() })
})

const va = { key: 'va1', uid: 'u' }

describe('what a listing says of an attachment', () => {
  it('holds until a run has acted on it, or the next listing says something else', () => {
    memory.noteListing('va1', 'different')
    expect([va, va, { ...va, key: 'va2' }].map((each) => memory.isForced(each))).toEqual([true, true, false])
    memory.noteListing('va1', 'same')
    expect([memory.isForced(va), memory.listing('va1')]).toEqual([false, 'same'])
    memory.clearListing('va1')
    expect(memory.listing('va1')).toBeUndefined()
  })

  it('is forgotten with its attachment, and so is what others have undone', () => {
    memory.noteListing('va1', 'different')
    memory.statuses.note(va)
    memory.finalizers.note(va)
    memory.forget('va1')
    expect([memory.isForced(va), memory.statuses.has(va), memory.finalizers.has(va)]).toEqual([false, false, false])
  })
})

describe('a pending status', () => {
  it.each([
    ['is written', (key: string) => memory.clearStatusPending(key)],
    ['has gone with its attachment', (key: string) => memory.forget(key)],
  ])('is so until it %s', (_, end) => {
    memory.markStatusPending('va1')
    expect([memory.statusPending('va1'), memory.statusPending('va2')]).toEqual([true, false])
    end('va1')
    expect(memory.statusPending('va1')).toBe(false)
  })
})

describe('an attachment that the server says is gone', () => {
  it.each([
    ['the server holds it after all', () => memory.clearGone('va1')],
    ['the cache has seen it go', () => memory.forget('va1')],
  ])('is known as such until %s', (_, end) => {
    memory.markGone(va)
    expect([va, { ...va, uid: 'later' }, { ...va, key: 'va2' }].map((each) => memory.isGone(each))).toEqual([
      true,
      false,
      false,
    ])
    end()
    expect(memory.isGone(va)).toBe(false)
  })
})
