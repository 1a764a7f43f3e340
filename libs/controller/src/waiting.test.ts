import { beforeEach, describe, expect, it } from '@jest/globals'
import { type Cause, WaitingKeys } from './waiting.ts'

const node = (name: string): Cause => ({ on: 'node', name })
const driver: Cause = { on: 'driver' }

let waiting: WaitingKeys
beforeEach(() => {
  waiting = new WaitingKeys()
})

const known = () => ['a', 'b'].map((key) => waiting.has(key))

describe('what keys wait for', () => {
  it('is found by the cause, whichever of several comes', () => {
    waiting.set('a', [node('one'), driver])
    waiting.set('b', [node('one')])
    expect([node('one'), driver, node('two')].map((cause) => waiting.keysOf(cause))).toEqual([['a', 'b'], ['a'], []])
    expect([...waiting.keys()]).toEqual(['a', 'b'])
    expect(known()).toEqual([true, true])
  })

  it('is what was said last', () => {
    waiting.set('a', [node('one')])
    waiting.set('b', [node('one')])
    waiting.set('a', [node('two')])
    expect([node('one'), node('two')].map((cause) => waiting.keysOf(cause))).toEqual([['b'], ['a']])
    waiting.set('b', [])
    expect(waiting.keysOf(node('one'))).toEqual([])
    expect(known()).toEqual([true, false])
    expect([...waiting.keys()]).toEqual(['a'])
  })

  it('is nothing once it is deleted, and nothing of others', () => {
    for (const key of ['a', 'b']) waiting.set(key, [driver, node('one'), node('one')])
    waiting.delete('a')
    waiting.delete('unknown')
    expect([driver, node('one')].map((cause) => waiting.keysOf(cause))).toEqual([['b'], ['b']])
    expect(known()).toEqual([false, true])
  })

  it('is identified by kind and name, also a cause without a name', () => {
    waiting.set('a', [{ on: 'node', name: '' }])
    waiting.set('b', [{ on: 'node', name: 'driver' }])
    expect([{ on: 'node' }, driver].map((cause) => waiting.keysOf(cause))).toEqual([['a'], []])
  })

  it('stays while its keys are tried one by one', () => {
    for (const key of ['a', 'b']) waiting.set(key, [driver])
    for (const key of waiting.keysOf(driver)) waiting.delete(key)
    expect(known()).toEqual([false, false])
  })
})
