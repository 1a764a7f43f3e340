import { beforeEach, describe, expect, it } from '@jest/globals'
import { type Cause, WaitingKeys } from './waiting.ts'

const node = (name: string): Cause => ({ on: 'node', name })
const driver: Cause = { on: 'driver' }

let waiting: WaitingKeys
beforeEach(() => {
  waiting = new WaitingKeys()
})

const known = () => ['a', 'b'].map((key) => waiting.has(key))

describe('WaitingKeys', () => {
  it('the index of waiting keys finds a key by each cause that the key waits for', () => {
    waiting.set('a', [node('one'), driver])
    waiting.set('b', [node('one')])
    expect([node('one'), driver, node('two')].map((cause) => [...waiting.keysOf(cause)])).toEqual([
      ['a', 'b'],
      ['a'],
      [],
    ])
    expect([...waiting.keys()]).toEqual(['a', 'b'])
    expect(known()).toEqual([true, true])
  })

  it('new causes of a waiting key replace its earlier causes', () => {
    waiting.set('a', [node('one')])
    waiting.set('b', [node('one')])
    waiting.set('a', [node('two')])
    expect([node('one'), node('two')].map((cause) => [...waiting.keysOf(cause)])).toEqual([['b'], ['a']])
    waiting.set('b', [])
    expect([...waiting.keysOf(node('one'))]).toEqual([])
    expect(known()).toEqual([true, false])
    expect([...waiting.keys()]).toEqual(['a'])
  })

  it('the index of waiting keys removes only the given key', () => {
    for (const key of ['a', 'b']) waiting.set(key, [driver, node('one'), node('one')])
    waiting.delete('a')
    waiting.delete('unknown')
    expect([driver, node('one')].map((cause) => [...waiting.keysOf(cause)])).toEqual([['b'], ['b']])
    expect(known()).toEqual([false, true])
  })

  it('two causes are equal if kind and name are equal, and a missing name counts as empty', () => {
    waiting.set('a', [{ on: 'node', name: '' }])
    waiting.set('b', [{ on: 'node', name: 'driver' }])
    expect([{ on: 'node' }, driver].map((cause) => [...waiting.keysOf(cause)])).toEqual([['a'], []])
  })

  it('the keys that wait for a cause can be deleted while a caller iterates over them', () => {
    for (const key of ['a', 'b']) waiting.set(key, [driver])
    for (const key of [...waiting.keysOf(driver)]) waiting.delete(key)
    expect(known()).toEqual([false, false])
  })
})
