import { getEventListeners } from 'node:events'
import { describe, expect, it, test } from '@jest/globals'
import { inPhase, onAbort, onPhase, type RunPhase } from './on-abort.ts'

describe('onAbort', () => {
  it('`onAbort` calls each listener once, in the order of their registration, and removes them', () => {
    const { signal, abort } = controller()
    const calls: string[] = []
    onAbort(signal, () => calls.push('a'))
    onAbort(signal, () => calls.push('b'))
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)

    abort()
    abort()

    expect(calls).toEqual(['a', 'b'])
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  it('`onAbort` does not call a listener that is added after the abort', () => {
    const never = (): void => {
      throw new Error('called')
    }
    onAbort(AbortSignal.abort(), never)()
  })

  it('`onAbort` does not call a removed listener, even if another listener removes it during the abort', () => {
    const { signal, abort } = controller()
    const calls: string[] = []
    const takeBackA = onAbort(signal, () => calls.push('a'))
    onAbort(signal, () => {
      calls.push('b')
      takeBackC()
    })
    const takeBackC = onAbort(signal, () => calls.push('c'))
    takeBackA()

    abort()

    expect(calls).toEqual(['b'])
  })

  it('`onAbort` leaves no event listener on a signal whose listeners are removed, and accepts new listeners', () => {
    const { signal, abort } = controller()
    let calls = 0
    const listener = (): void => {
      calls += 1
    }
    const takeBack = onAbort(signal, listener)
    takeBack()
    takeBack()
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)

    onAbort(signal, listener)
    abort()
    expect(calls).toBe(1)
  })

  it('`onAbort` never calls a listener that is registered without a signal', () => {
    onAbort(undefined, () => {
      throw new Error('called')
    })()
  })
})

function controller(): { readonly signal: AbortSignal; abort(): void } {
  const aborting = new AbortController()
  return { signal: aborting.signal, abort: () => aborting.abort() }
}

test('a phase listener gets the phase before the work, and `deciding` after the work', async () => {
  const { signal } = new AbortController()
  const seen: RunPhase[] = []
  const foreign: RunPhase[] = []
  const stop = onPhase(signal, (phase) => seen.push(phase))
  onPhase(new AbortController().signal, (phase) => foreign.push(phase))
  const during = await inPhase('calling', signal, async () => [...seen])
  await expect(inPhase('writing', signal, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(during).toEqual(['calling'])
  stop()
  expect(await inPhase('calling', signal, async () => 7)).toBe(7)
  expect(seen).toEqual(['calling', 'deciding', 'writing', 'deciding'])
  expect(foreign).toEqual([])
})
