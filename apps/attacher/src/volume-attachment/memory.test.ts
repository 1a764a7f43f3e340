import { beforeEach, describe, expect, it } from '@jest/globals'
import { AttachmentMemory, type Cause } from './memory.ts'

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

describe('a status that is owed', () => {
  it.each([
    ['is told', (key: string) => memory.stopOwing(key)],
    ['has gone with its attachment', (key: string) => memory.forget(key)],
  ])('is owed until it %s', (_, end) => {
    memory.oweStatus('va1')
    expect([memory.owesStatus('va1'), memory.owesStatus('va2')]).toEqual([true, false])
    end('va1')
    expect(memory.owesStatus('va1')).toBe(false)
  })
})

describe('what is waited for', () => {
  const woken = (cause: Cause): string[] => [...memory.waitingFor(cause)]

  beforeEach(() => {
    memory.waitFor('driver', { on: 'driver' })
    memory.waitFor('node-1', { on: 'node', name: '1' })
    memory.waitFor('node-2', { on: 'node', name: '2' })
    memory.waitFor('volume-1', { on: 'volume', name: '1' })
    memory.waitFor('volume-1-too', { on: 'volume', name: '1' })
  })

  it.each<[Cause, string[]]>([
    [{ on: 'driver' }, ['driver']],
    [{ on: 'node', name: '1' }, ['node-1']],
    [{ on: 'node', name: '3' }, []],
    [{ on: 'volume', name: '1' }, ['volume-1', 'volume-1-too']],
    [{ on: 'volume', name: '2' }, []],
  ])('%j wakes %j', (cause, keys) => {
    expect(woken(cause)).toEqual(keys)
  })

  it('is the latest thing, until the attachment is worked on or gone', () => {
    memory.waitFor('node-1', { on: 'volume', name: '7' })
    memory.stopWaiting('volume-1')
    memory.forget('volume-1-too')
    expect(woken({ on: 'node', name: '1' })).toEqual([])
    expect(woken({ on: 'volume', name: '7' })).toEqual(['node-1'])
    expect(woken({ on: 'volume', name: '1' })).toEqual([])
  })
})
