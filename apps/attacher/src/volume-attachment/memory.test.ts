import { beforeEach, describe, expect, it } from '@jest/globals'
import { AttachmentMemory } from './memory.ts'

let memory: AttachmentMemory
beforeEach(() => {
  memory = new AttachmentMemory()
})

describe('a force mark', () => {
  it('counts once', () => {
    memory.force('va1')
    memory.force('va1')
    expect([memory.takeForce('va1'), memory.takeForce('va1'), memory.takeForce('va2')]).toEqual([true, false, false])
  })

  it('goes with its attachment', () => {
    memory.force('va1')
    memory.forget('va1')
    expect(memory.takeForce('va1')).toBe(false)
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
  const va = { key: 'va1', uid: 'u' }

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
