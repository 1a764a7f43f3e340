import { getEventListeners } from 'node:events'
import { describe, expect, test } from '@jest/globals'
import { abortable, aborted, CancelledError, DeadlineError, deadline, isAbort, scope } from './abort.ts'
import { FakeClock } from './testing/fake-clock.ts'

const reason = new CancelledError('shutting down')

function listeners(...signals: readonly AbortSignal[]): readonly number[] {
  return signals.map((signal) => getEventListeners(signal, 'abort').length)
}

describe('a scope', () => {
  test('an abort scope takes the reason of its first aborted parent, and removes its listeners', () => {
    const [a, b] = [new AbortController(), new AbortController()]
    const { signal } = scope(a.signal, undefined, b.signal)
    expect(listeners(a.signal, b.signal)).toEqual([1, 1])
    b.abort(reason)
    a.abort(new Error('too late'))
    expect(signal.reason).toBe(reason)
    expect(listeners(a.signal, b.signal)).toEqual([0, 0])
  })

  test('an abort scope of an aborted parent is aborted from the start, without a listener', () => {
    const open = new AbortController()
    const { signal } = scope(open.signal, AbortSignal.abort(reason), AbortSignal.abort(new Error('second')))
    expect(signal.reason).toBe(reason)
    expect(listeners(open.signal)).toEqual([0])
  })

  test('an abort scope can be aborted without aborting its parent', () => {
    const parent = new AbortController()
    const inner = scope(parent.signal)
    inner.abort(reason)
    inner.abort(new Error('second'))
    expect(inner.signal.reason).toBe(reason)
    expect(parent.signal.aborted).toBe(false)
    expect(listeners(parent.signal)).toEqual([0])
  })

  test('a disposed abort scope ignores its parents, but can still be aborted', () => {
    const parent = new AbortController()
    const inner = scope(parent.signal)
    inner.dispose()
    inner.dispose()
    expect(listeners(parent.signal)).toEqual([0])
    parent.abort(new Error('parent'))
    expect(inner.signal.aborted).toBe(false)
    inner.abort(reason)
    expect(inner.signal.reason).toBe(reason)
  })

  test('an abort scope declared with `using` is disposed at the end of its block', () => {
    const parent = new AbortController()
    {
      using inner = scope(parent.signal)
      expect([inner.signal.aborted, ...listeners(parent.signal)]).toEqual([false, 1])
    }
    expect(listeners(parent.signal)).toEqual([0])
  })
})

describe('a deadline', () => {
  test('a deadline aborts its signal with an error that names the slow operation', async () => {
    const clock = new FakeClock()
    const parent = new AbortController()
    const { signal } = deadline(clock, 100, { operation: 'probe', signal: parent.signal })
    await clock.advance(99)
    expect(signal.aborted).toBe(false)
    await clock.advance(1)
    expect(signal.reason).toEqual(new DeadlineError('probe'))
    expect(signal.reason).toMatchObject({
      name: 'DeadlineError',
      operation: 'probe',
      message: 'probe: deadline exceeded',
    })
    expect(listeners(parent.signal)).toEqual([0])
  })

  const endings: readonly [string, (guard: ReturnType<typeof deadline>, parent: AbortController) => void, unknown][] = [
    ['a parent is aborted', (_, parent) => parent.abort(reason), reason],
    ['it is aborted itself', (guard) => guard.abort(reason), reason],
    ['it is disposed', (guard) => guard.dispose(), undefined],
  ]
  test.each(endings)('a deadline leaves neither timer nor listener when %s', async (_, end, expected) => {
    const clock = new FakeClock()
    const parent = new AbortController()
    const guard = deadline(clock, 100, { operation: 'probe', signal: parent.signal })
    end(guard, parent)
    expect([clock.pending, ...listeners(parent.signal)]).toEqual([0, 0])
    await clock.advance(200)
    expect(guard.signal.reason).toBe(expected)
  })

  test('a deadline starts no timer if its parent is already aborted', () => {
    const clock = new FakeClock()
    const { signal } = deadline(clock, 100, { operation: 'probe', signal: AbortSignal.abort(reason) })
    expect(signal.reason).toBe(reason)
    expect(clock.pending).toBe(0)
  })
})

describe('abortable', () => {
  test('`abortable` returns the promise itself if there is no signal', () => {
    const promise = Promise.resolve(1)
    expect(abortable(promise, undefined)).toBe(promise)
  })

  test.each([
    ['resolves', Promise.resolve('value'), { status: 'fulfilled', value: 'value' }],
    ['rejects', Promise.reject(reason), { status: 'rejected', reason }],
  ])('`abortable` does not change a promise that %s, and removes its abort listener', async (_, promise, outcome) => {
    const { signal } = new AbortController()
    const result = abortable(promise, signal)
    expect(listeners(signal)).toEqual([1])
    expect(await Promise.allSettled([result])).toEqual([outcome])
    await new FakeClock().settle()
    expect(listeners(signal)).toEqual([0])
  })

  test('`abortable` rejects with the reason of the abort even if its promise never settles', async () => {
    const controller = new AbortController()
    const result = abortable(new Promise(() => {}), controller.signal)
    controller.abort(reason)
    await expect(result).rejects.toBe(reason)
    expect(listeners(controller.signal)).toEqual([0])
  })

  test('`abortable` rejects if the signal is already aborted, even if the promise has settled', async () => {
    const signal = AbortSignal.abort(reason)
    await expect(abortable(Promise.resolve('value'), signal)).rejects.toBe(reason)
    expect(listeners(signal)).toEqual([0])
  })

  test('a late rejection of a promise in `abortable` is not reported as unhandled', async () => {
    const unhandled: unknown[] = []
    const note = (error: unknown): void => void unhandled.push(error)
    process.on('unhandledRejection', note)
    const late = Promise.withResolvers<never>()
    await expect(abortable(late.promise, AbortSignal.abort(reason))).rejects.toBe(reason)
    late.reject(new Error('late'))
    await new FakeClock().settle()
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })
})

describe('aborted', () => {
  test('`aborted` resolves with the reason of its signal, even if the signal was aborted before the call', async () => {
    const controller = new AbortController()
    const waiting = aborted(controller.signal)
    controller.abort(reason)
    expect(await waiting).toBe(reason)
    expect(await aborted(controller.signal)).toBe(reason)
    expect(listeners(controller.signal)).toEqual([0])
  })
})

describe('isAbort', () => {
  const wrapped = new Error('saving failed', { cause: new Error('request failed', { cause: reason }) })
  test.each([
    ['a cancellation', reason, true],
    ['a deadline', new DeadlineError('call'), true],
    ["the runtime's own AbortError", AbortSignal.abort().reason, true],
    ['a cancellation among the causes', wrapped, true],
    ['any other error', new Error('aborted'), false],
    ['a text', 'AbortError', false],
    ['nothing', undefined, false],
  ])('`isAbort` reports whether %s is an abort', (_, thrown, expected) => {
    expect(isAbort(thrown)).toBe(expected)
  })
})
