import { expect, it } from '@jest/globals'
import { CancelledError } from './abort.ts'
import { KeyedMutex } from './keyed-mutex.ts'
import { FakeClock } from './testing/fake-clock.ts'

const never = new AbortController().signal

it('`KeyedMutex` runs the functions of one key one after the other, in the order of the calls', async () => {
  const clock = new FakeClock()
  const mutex = new KeyedMutex()
  const seen: string[] = []
  const work = (name: string) =>
    mutex.run('a', never, async () => {
      seen.push(`${name} begins`)
      await clock.sleep(10)
      seen.push(`${name} ends`)
    })
  const all = Promise.all([work('first'), work('second'), work('third')])
  await clock.advance(30)
  await all
  expect(seen).toEqual(['first begins', 'first ends', 'second begins', 'second ends', 'third begins', 'third ends'])
  expect(mutex.size).toBe(0)
})

it('`KeyedMutex` runs the functions of different keys at the same time', async () => {
  const mutex = new KeyedMutex()
  const gate = Promise.withResolvers<void>()
  const first = mutex.run('a', never, () => gate.promise)
  expect(await mutex.run('b', never, async () => 'done')).toBe('done')
  gate.resolve()
  await first
})

it('`KeyedMutex` passes the error of a function to its caller, and starts the next function', async () => {
  const mutex = new KeyedMutex()
  const first = mutex.run('a', never, async () => {
    throw new Error('broken')
  })
  const second = mutex.run('a', never, async () => 'done')
  await expect(first).rejects.toThrow('broken')
  expect(await second).toBe('done')
})

it('`KeyedMutex` drops only the waiting function whose signal is aborted', async () => {
  const clock = new FakeClock()
  const mutex = new KeyedMutex()
  const gate = Promise.withResolvers<void>()
  const seen: string[] = []
  const controller = new AbortController()
  const first = mutex.run('a', never, () => gate.promise)
  const second = mutex.run('a', controller.signal, async () => seen.push('second'))
  const third = mutex.run('a', never, async () => seen.push('third'))
  controller.abort(new CancelledError('enough'))
  await expect(second).rejects.toThrow('enough')
  await clock.settle()
  expect(seen).toEqual([])
  gate.resolve()
  await Promise.all([first, third])
  expect(seen).toEqual(['third'])
  expect(mutex.size).toBe(0)
})

it('`KeyedMutex` does not run a function whose signal is already aborted', async () => {
  const mutex = new KeyedMutex()
  const aborted = AbortSignal.abort(new CancelledError('enough'))
  await expect(mutex.run('a', aborted, async () => 'done')).rejects.toThrow('enough')
  expect(mutex.size).toBe(0)
})
