import { beforeEach, describe, expect, it } from '@jest/globals'
import { WaitingKeys } from './waiting.ts'
import type { WakeEvent } from './wake-event.ts'

const node = (name: string): WakeEvent => ({ kind: 'node', name })
const driver: WakeEvent = { kind: 'driver' }

let waiting: WaitingKeys
beforeEach(() => {
  waiting = new WaitingKeys()
})

const waitingKeys = () => ['a', 'b'].map((key) => waiting.has(key))

describe('WaitingKeys', () => {
  it('the index of waiting keys finds a key by each event that the key waits for', () => {
    waiting.set('a', [node('one'), driver])
    waiting.set('b', [node('one')])
    expect([node('one'), driver, node('two')].map((event) => [...waiting.keysWaitingFor(event)])).toEqual([
      ['a', 'b'],
      ['a'],
      [],
    ])
    expect([...waiting.keys()]).toEqual(['a', 'b'])
    expect(waitingKeys()).toEqual([true, true])
  })

  it('new events of a waiting key replace its earlier events', () => {
    waiting.set('a', [node('one')])
    waiting.set('b', [node('one')])
    waiting.set('a', [node('two')])
    expect([node('one'), node('two')].map((event) => [...waiting.keysWaitingFor(event)])).toEqual([['b'], ['a']])
    waiting.set('b', [])
    expect([...waiting.keysWaitingFor(node('one'))]).toEqual([])
    expect(waitingKeys()).toEqual([true, false])
    expect([...waiting.keys()]).toEqual(['a'])
  })

  it('the index of waiting keys removes only the given key', () => {
    for (const key of ['a', 'b']) waiting.set(key, [driver, node('one'), node('one')])
    waiting.delete('a')
    waiting.delete('unknown')
    expect([driver, node('one')].map((event) => [...waiting.keysWaitingFor(event)])).toEqual([['b'], ['b']])
    expect(waitingKeys()).toEqual([false, true])
  })

  it('two events are equal if kind and name are equal, and a missing name counts as empty', () => {
    waiting.set('a', [{ kind: 'node', name: '' }])
    waiting.set('b', [{ kind: 'node', name: 'driver' }])
    expect([{ kind: 'node' }, driver].map((event) => [...waiting.keysWaitingFor(event)])).toEqual([['a'], []])
  })

  it('the keys that wait for an event can be deleted while a caller iterates over them', () => {
    for (const key of ['a', 'b']) waiting.set(key, [driver])
    for (const key of [...waiting.keysWaitingFor(driver)]) waiting.delete(key)
    expect(waitingKeys()).toEqual([false, false])
  })
})
