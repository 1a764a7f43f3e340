import { expect, it } from '@jest/globals'
import { Waiting } from './waiting.ts'

it('finds who waits for what', () => {
  const waiting = new Waiting()
  waiting.wait('a', { on: 'volume', name: 'x' })
  waiting.wait('b', { on: 'class', name: 'x' })
  waiting.wait('c', { on: 'driver' })
  waiting.wait('d', { on: 'volume', name: 'x' })
  expect(waiting.keysOf({ on: 'volume', name: 'x' })).toEqual(['a', 'd'])
  expect(waiting.keysOf({ on: 'class', name: 'x' })).toEqual(['b'])
  expect(waiting.keysOf({ on: 'class', name: 'y' })).toEqual([])
  expect(waiting.keysOf({ on: 'driver' })).toEqual(['c'])
})

it('a key waits for one thing, the last one', () => {
  const waiting = new Waiting()
  waiting.wait('a', { on: 'volume', name: 'x' })
  waiting.wait('a', { on: 'driver' })
  expect(waiting.keysOf({ on: 'volume', name: 'x' })).toEqual([])
  waiting.stop('a')
  waiting.stop('b')
  expect(waiting.keysOf({ on: 'driver' })).toEqual([])
})
